"use strict";
/* Sorts tables, and explains the cells of the heat map. The page is complete without scripts. */
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
			var cell = event.target.closest("td"), row;

			marked.forEach(function (element) {
				element.classList.remove("on");
			});
			marked = [];
			if (!cell)
				return;
			row = cell.parentNode;
			marked = [cell, row.cells[0], headings[cell.cellIndex]];
			marked.forEach(function (element) {
				element.classList.add("on");
			});
			readout.textContent = row.cells[0].textContent + ", " + headings[cell.cellIndex].textContent + ": " + heat.dataset.says + " " +
				cell.textContent;
		});
	}

	/* Zooms into a map of processes and time: shows a part of the time at full width. */
	document.querySelectorAll("svg.zoom").forEach(function (map) {
		var whole = map.viewBox.baseVal.width, height = map.viewBox.baseVal.height, from = 0, width = whole;

		function show(left, wanted) {
			width = Math.min(whole, Math.max(4, wanted));
			from = Math.min(whole - width, Math.max(0, left));
			map.setAttribute("viewBox", from + " 0 " + width + " " + height);
			map.setAttribute("aria-label", "Map of processes and time, " + (from * map.dataset.column).toFixed(2) + " s to " +
				((from + width) * map.dataset.column).toFixed(2) + " s");
		}

		function zoom(factor, at) {
			show(from + at * width * (1 - factor), width * factor);
		}

		map.addEventListener("wheel", function (event) {
			var box = map.getBoundingClientRect();

			if (event.ctrlKey || (event.deltaY > 0 && width === whole))
				return;
			event.preventDefault();
			zoom(event.deltaY < 0 ? 0.8 : 1.25, (event.clientX - box.left) / box.width);
		}, { passive: false });
		map.addEventListener("keydown", function (event) {
			var done = true;

			if (event.key === "+" || event.key === "=")
				zoom(0.8, 0.5);
			else if (event.key === "-")
				zoom(1.25, 0.5);
			else if (event.key === "ArrowLeft")
				show(from - width / 4, width);
			else if (event.key === "ArrowRight")
				show(from + width / 4, width);
			else if (event.key === "0")
				show(0, whole);
			else
				done = false;
			if (done)
				event.preventDefault();
		});
	});
})();
