"""The page of a session: of the cluster that runs it, or of this process."""

from __future__ import annotations

from actorsession.cluster.launch.dashboard_process import DashboardProcess
from actorsession.cluster.server.session_server import SessionServer
from actorsession.rpc.security import security_of, shared_token
from actorsession.session.base import BaseSession, local_session, rpc_options_of
from actorsession.session.targets import master_addresses

__all__ = ["SessionPage"]


class SessionPage:
    """Shows what runs a session, from ``start`` to ``close``; both block, and may be called in any thread.

    Args:
        session: an ``AsyncSession`` or a ``Session``.

    Raises:
        ImportError: without the extra ``dashboard``.
        UnimplementedError: for a kind of session that cannot be looked at.
    """

    def __init__(self, session: BaseSession) -> None:
        self._server: SessionServer | None = None
        if local_session(session) is not None:
            self._server, self._page = SessionServer(session), DashboardProcess()
        else:
            security = security_of(rpc_options_of(session))
            self._address = master_addresses(session.target, "tcp" if security is None else "tls")[0]
            self._page = DashboardProcess(token=shared_token(self._address), security=security)

    def start(self) -> None:
        """Serve the page, and print its link.

        Raises:
            OpError: if it does not come up.
        """
        try:
            if self._server is not None:
                self._server.start()
                self._address = self._server.address
            self._page.start(self._address)
            self._page.announce("session")
        except BaseException:
            self.close()
            raise

    @property
    def link(self) -> str:
        """The address of the page; "" before the start."""
        return self._page.link

    def close(self) -> None:
        """End the page; may be called again."""
        self._page.close()
        if self._server is not None:
            self._server.close()
