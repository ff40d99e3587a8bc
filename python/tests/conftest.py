# SPDX-License-Identifier: Apache-2.0
"""What the tests share: all but test_..._cuda0 runs on the emulated device."""

from __future__ import annotations

import signal

import pytest

import carillon

# A shell's job in the background, and all that it starts, ignores Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def device() -> carillon.Device:
    return carillon.Device("emulated")


@pytest.fixture
def gpu() -> carillon.Device:
    """The first GPU, where there is one."""
    try:
        return carillon.Device("cuda:0")
    except (carillon.DeviceNotFoundError, carillon.UnsupportedError) as error:
        pytest.skip(str(error))


@pytest.fixture
def memory(device: carillon.Device) -> carillon.Memory:
    """A page of device memory."""
    return device.allocate(4096)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--calls", type=int, default=10_000, help="how many test_growth.py makes")


@pytest.fixture(scope="session")
def calls(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--calls"))
