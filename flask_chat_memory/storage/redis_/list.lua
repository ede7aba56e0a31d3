return { alive, last }
