"""What a project brings along: skills, commands, agents and output styles, as parsed values and as the model is told of them."""
