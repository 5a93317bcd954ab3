"""What Python and setuptools have no more, for programs of its time."""

from __future__ import annotations

import pytest

from actorsession.compat.libraries import distutils, pkg_resources
from actorsession.compat.libraries.distutils import LooseVersion, StrictVersion


@pytest.mark.parametrize(
    ("kind", "less", "more"),
    [
        (LooseVersion, "1.9", "1.10"),
        (LooseVersion, "1.15.0rc1", "1.15.1"),
        (LooseVersion, "1.15", "1.15.0"),
        (LooseVersion, "2.2.4-tf", "2.3"),
        (StrictVersion, "1.9", "1.10"),
        (StrictVersion, "1.15a1", "1.15b1"),
        (StrictVersion, "1.15b2", "1.15"),
        (StrictVersion, "1.14.9", "1.15.0"),
    ],
)
def test_versions_are_in_their_order(kind: type[LooseVersion], less: str, more: str) -> None:
    assert kind(less) < kind(more)
    assert kind(less) < more
    assert kind(more) >= kind(less)
    assert kind(less) != kind(more)


def test_a_strict_version_without_a_last_number_is_that_with_0() -> None:
    assert StrictVersion("1.15") == StrictVersion("1.15.0") == "1.15"
    assert str(StrictVersion("1.15.0")) == "1.15"
    assert str(StrictVersion("1.15.2b3")) == "1.15.2b3"
    assert LooseVersion("1.15.2").version == [1, 15, 2]
    with pytest.raises(ValueError, match="invalid version number"):
        StrictVersion("1.15.0-rc1")
    # Words for yes and no.
    assert [distutils.strtobool(word) for word in ("Yes", "on", "1", "n", "False")] == [1, 1, 1, 0, 0]
    with pytest.raises(ValueError, match="invalid truth value 'perhaps'"):
        distutils.strtobool("perhaps")
    # Versions of what is installed.
    assert pkg_resources.parse_version(pkg_resources.get_distribution("numpy").version) > "1.20"
    with pytest.raises(pkg_resources.DistributionNotFound):
        pkg_resources.get_distribution("no-such-library")


def test_files_of_a_package_are_found_beside_its_module() -> None:
    package = "actorsession.compat"
    assert pkg_resources.resource_filename(package, "alias.py").endswith("compat/alias.py")
    assert pkg_resources.resource_exists(package, "alias.py")
    assert not pkg_resources.resource_exists(package, "spam.py")
    assert pkg_resources.resource_isdir(package, "libraries")
    assert "alias.py" in pkg_resources.resource_listdir(package, "")
    assert b"install_alias" in pkg_resources.resource_string(package, "alias.py")
    with pkg_resources.resource_stream(package, "alias.py") as file:
        assert file.read(3) == b'"""'
