"""The ways to compose a poster, one a file. Each draws a whole sheet, says where its title goes, and differs at
a glance."""
