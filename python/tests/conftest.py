# SPDX-License-Identifier: Apache-2.0
"""What the tests share: everything runs on the emulated device."""

from __future__ import annotations

import pytest

import carillon


@pytest.fixture(scope="session")
def device() -> carillon.Device:
    return carillon.Device("emulated")


@pytest.fixture
def memory(device: carillon.Device) -> carillon.Memory:
    """A page of device memory."""
    return device.allocate(4096)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--calls", type=int, default=10_000, help="how many test_growth.py makes")


@pytest.fixture(scope="session")
def calls(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--calls"))
