"""The web is killed at every hop."""

from tests.kill.matrix import killed_around_a_card_and_a_memory, killed_at_every_hop

test_story_ends_right = killed_at_every_hop("web")
test_a_card_and_a_memory_are_kept = killed_around_a_card_and_a_memory("web")
