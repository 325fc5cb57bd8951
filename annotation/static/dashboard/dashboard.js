// Charts from the data in the page, in the theme's colours; drawn again when the theme turns and
// when htmx has brought a fresh part of the page.
(() => {
  const drawn = new Map();

  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const palette = () => {
    const dark = document.documentElement.classList.contains("dark");
    return {
      text: colour(dark ? "--color-base-400" : "--color-base-600"),
      line: colour(dark ? "--color-base-700" : "--color-base-200"),
      muted: colour(dark ? "--color-base-500" : "--color-base-400"),
      series: dark
        ? ["#7db3f5", "#f2b66d", "#6ee7a0", "#f29bb8", "#b9a5f5", "#8fd6e0"]
        : ["#1f5fa8", "#b8650a", "#15803d", "#b0305f", "#6a4fc0", "#0b7285"],
    };
  };

  const dataset = (series, index, kind, colours) => {
    const ink = series.muted ? colours.muted : colours.series[index % colours.series.length];
    return {
      label: series.name,
      data: series.values,
      borderColor: ink,
      backgroundColor: kind === "line" ? "transparent" : ink,
      borderWidth: kind === "line" ? 2 : 0,
      borderDash: series.dashed ? [5, 4] : [],
      pointRadius: kind === "line" && series.values.length > 40 ? 0 : 2.5,
      tension: 0.15,
      spanGaps: true,
      maxBarThickness: 42,
    };
  };

  // A time without its year and seconds; the table has them.
  function tick(value) {
    const label = this.getLabelForValue(value);
    return /^\d{4}-\d\d-\d\d \d\d:\d\d/.test(label) ? label.slice(5, 16) : label;
  }

  const configuration = (chart) => {
    const colours = palette();
    const axis = { grid: { color: colours.line }, ticks: { color: colours.text } };
    return {
      type: chart.kind === "line" ? "line" : "bar",
      data: {
        labels: chart.labels,
        datasets: chart.series.map((one, index) => dataset(one, index, chart.kind, colours)),
      },
      options: {
        animation: false,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        plugins: {
          legend: { display: chart.series.length > 1, labels: { color: colours.text, boxWidth: 14 } },
        },
        scales: {
          x: { ...axis, stacked: chart.kind === "stack", ticks: { ...axis.ticks, callback: tick, maxRotation: 0, autoSkip: true }, title: { display: Boolean(chart.axis), text: chart.axis, color: colours.text } },
          y: {
            ...axis,
            stacked: chart.kind === "stack",
            beginAtZero: chart.least === null,
            min: chart.least ?? undefined,
            max: chart.most ?? undefined,
            title: { display: Boolean(chart.unit), text: chart.unit, color: colours.text },
          },
        },
      },
    };
  };

  const draw = () => {
    for (const [canvas, chart] of drawn) {
      chart.destroy();
      drawn.delete(canvas);
    }
    for (const canvas of document.querySelectorAll("canvas[data-chart]")) {
      const data = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
      drawn.set(canvas, new Chart(canvas, configuration(data)));
    }
  };

  // On a narrow screen the tabs scroll: the one that the reader is at comes into sight.
  const showTab = () => {
    const tab = document.querySelector(".dash-tabs [aria-current]");
    const row = tab?.parentElement;
    if (row) row.scrollLeft = tab.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
  };

  // What takes a while says so from the click on.
  document.addEventListener("submit", (event) => {
    for (const note of event.target.querySelectorAll("[data-while-sent]")) note.hidden = false;
  });
  // Come back to by the browser's own way, the page is as it was left.
  window.addEventListener("pageshow", () => {
    for (const note of document.querySelectorAll("[data-while-sent]")) note.hidden = true;
  });

  const begin = () => {
    showTab();
    Chart.defaults.font.family = "Inter, sans-serif";
    draw();
    new MutationObserver(draw).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["class"],
    });
    document.body.addEventListener("htmx:afterSettle", draw);
  };

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
