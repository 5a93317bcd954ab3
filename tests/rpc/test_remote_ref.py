from __future__ import annotations

from actorsession.actors import Ref
from actorsession.rpc import RemoteRef
from tests.actors.kit import SERVER, Desk, Said, Say, linked, soon


async def test_a_remote_ref_names_its_target_and_the_task_that_has_it() -> None:
    async with linked("inproc") as (here, _):
        assert RemoteRef(here, "desk").name == f"desk of {SERVER}"
        assert repr(RemoteRef(here, "desk")) == f"<RemoteRef to desk of {SERVER} over {here!r}>"


async def test_refs_to_the_same_actor_over_the_same_link_are_equal() -> None:
    async with linked("inproc") as (here, there):
        refs = [RemoteRef(here, "a"), RemoteRef(here, "a"), RemoteRef(here, "b")]
        assert len({*refs, RemoteRef(there, "a")}) == 3
        assert refs[0] == refs[1]
        assert refs[0] != "a"


async def test_local_and_remote_refs_are_used_alike() -> None:
    desk = Desk()
    async with linked("inproc", serves={"desk": desk.ref}) as (here, _):
        refs: list[Ref] = [desk.ref, RemoteRef(here, "desk")]
        assert [await soon(ref.ask(Say(text="x"))) for ref in refs] == [Said(text="x")] * 2
