module quarry.invalid/quarry

go 1.22
