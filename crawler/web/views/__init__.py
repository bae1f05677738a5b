"""The views of panels: functions that read a store and return plain values."""
