"""Execution of admitted orders: submit, poll, settle, dispute and recover."""
