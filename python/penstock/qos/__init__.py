"""Quality of service: arbitration tables, a bandwidth broker, and the service classes of IEEE 802.1D."""
