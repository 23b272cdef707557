def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "slow: runs for more than about ten seconds; included by default")
