package resolvers

// jaroWinkler is how alike two strings are, 0 to 1: Jaro's share of common
// letters in about their order, raised for a common beginning of up to four
// letters (Winkler, 1990, with a weight of 0.1).
func jaroWinkler(a, b string) float64 {
	x, y := []rune(a), []rune(b)
	similarity := jaro(x, y)
	prefix := 0
	for prefix < min(len(x), len(y), 4) && x[prefix] == y[prefix] {
		prefix++
	}
	return similarity + float64(prefix)*0.1*(1-similarity)
}

func jaro(x, y []rune) float64 {
	if len(x) == 0 || len(y) == 0 {
		return 0
	}
	reach := max(max(len(x), len(y))/2-1, 0)
	usedX, usedY := make([]bool, len(x)), make([]bool, len(y))
	common := 0
	for i, r := range x {
		for k := max(0, i-reach); k < min(len(y), i+reach+1); k++ {
			if !usedY[k] && y[k] == r {
				usedX[i], usedY[k] = true, true
				common++
				break
			}
		}
	}
	if common == 0 {
		return 0
	}
	moved, k := 0, 0
	for i := range x {
		if !usedX[i] {
			continue
		}
		for !usedY[k] {
			k++
		}
		if x[i] != y[k] {
			moved++
		}
		k++
	}
	m := float64(common)
	return (m/float64(len(x)) + m/float64(len(y)) + (m-float64(moved)/2)/m) / 3
}
