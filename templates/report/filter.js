"use strict";
for (const table of document.querySelectorAll("main table")) {
  const rows = Array.from(table.tBodies[0].rows);
  if (rows.length < 40) continue;
  const label = document.createElement("label");
  const input = document.createElement("input");
  const count = document.createElement("output");
  label.className = "filter";
  input.type = "text";
  input.autocomplete = "off";
  label.append("Show rows with ", input, " ", count);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      if (!row.hidden) shown += 1;
    }
    count.value = wanted ? `${shown} of ${rows.length}` : "";
  });
  table.parentElement.before(label);
}
