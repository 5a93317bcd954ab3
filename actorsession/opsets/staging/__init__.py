"""Barriers and staging areas: values that wait by key or in order."""
