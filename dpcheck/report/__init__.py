"""How a report is shown: terminal, JSON, JUnit, SARIF and HTML."""
