"""Approval: an order is placed, priced on a card, admitted, or asked about again at a new price."""
