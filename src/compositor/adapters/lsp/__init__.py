"""Language servers: started when they are needed, asked over their standard input and output."""
