"""When the thread of maintenance runs its steps."""

import threading

from app.operations.maintenance import MaintenanceStep, MaintenanceThread

HOUR_SECONDS = 3600.0


def thread_of(ran: threading.Event) -> MaintenanceThread:
    def run() -> int:
        ran.set()
        return 0

    return MaintenanceThread([MaintenanceStep("note", run)], HOUR_SECONDS, ())


def test_steps_wait_for_their_turn_or_a_wake_up() -> None:
    ran = threading.Event()
    maintenance = thread_of(ran)
    maintenance.start()
    try:
        assert not ran.wait(0.1)
        maintenance.wake()
        assert ran.wait(10)
    finally:
        maintenance.stop()


def test_a_thread_that_is_stopped_before_its_first_turn_runs_no_step() -> None:
    ran = threading.Event()
    maintenance = thread_of(ran)
    maintenance.start()
    maintenance.stop()
    assert not ran.is_set()
