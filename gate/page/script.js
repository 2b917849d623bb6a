"use strict";
/* Comfort only: the page says everything without it. Tables that sort, and what a cell of the heat map means. */
(function () {
	function value(row, column) {
		var cell = row.cells[column], number;

		if (cell.dataset.v !== undefined)
			return Number(cell.dataset.v);
		number = parseFloat(cell.textContent.replace("\u2212", "-"));
		return isNaN(number) ? cell.textContent.trim() : number;
	}

	function order(a, b) {
		if (typeof a === typeof b)
			return a < b ? -1 : a > b ? 1 : 0;
		return typeof a === "number" ? -1 : 1;
	}

	function sort(table, column, heading) {
		var body = table.tBodies[0], down = heading.getAttribute("aria-sort") === "ascending";
		var rows = Array.prototype.slice.call(body.rows);

		rows.sort(function (a, b) {
			return order(value(a, column), value(b, column)) * (down ? -1 : 1);
		});
		table.querySelectorAll("th[aria-sort]").forEach(function (other) {
			other.removeAttribute("aria-sort");
		});
		heading.setAttribute("aria-sort", down ? "descending" : "ascending");
		rows.forEach(function (row) {
			body.appendChild(row);
		});
	}

	document.querySelectorAll("table.sortable").forEach(function (table) {
		Array.prototype.forEach.call(table.tHead.rows[0].cells, function (heading, column) {
			var button;

			if (heading.classList.contains("plot"))
				return;
			button = document.createElement("button");
			button.type = "button";
			while (heading.firstChild)
				button.appendChild(heading.firstChild);
			button.addEventListener("click", function () {
				sort(table, column, heading);
			});
			heading.appendChild(button);
		});
	});

	var heat = document.querySelector("table.heat"), readout = document.getElementById("readout");

	if (heat && readout) {
		var headings = heat.tHead.rows[0].cells, marked = [];

		heat.classList.add("live");
		readout.textContent = "Point at a cell to read it.";
		heat.addEventListener("pointerover", function (event) {
			var cell = event.target.closest("td"), row, rate, what;

			marked.forEach(function (element) {
				element.classList.remove("on");
			});
			marked = [];
			if (!cell)
				return;
			row = cell.parentNode;
			rate = cell.dataset.r;
			marked = [cell, row.cells[0], headings[cell.cellIndex]];
			marked.forEach(function (element) {
				element.classList.add("on");
			});
			if (heat.dataset.says)
				what = heat.dataset.says + " " + cell.textContent;
			else
				what = rate === undefined ? "not measured" : "z " + cell.textContent + ", " + Number(rate).toLocaleString("en") + " per second";
			readout.textContent = row.cells[0].textContent + ", " + headings[cell.cellIndex].textContent + ": " + what;
		});
	}
})();
