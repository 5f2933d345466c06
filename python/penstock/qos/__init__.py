"""Quality of service: tables for schedulers, a bandwidth broker, the service classes of IEEE 802.1D."""
