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
        ? ["#7db3f5", "#f2b66d", "#f29bb8", "#6ee7a0", "#b9a5f5", "#8fd6e0"]
        : ["#1f5fa8", "#b8650a", "#b0305f", "#15803d", "#6a4fc0", "#0b7285"],
    };
  };

  // Told apart without colour too: by their dashes and their points.
  const DASHES = [[], [8, 4], [2, 3]];
  const POINTS = ["circle", "rect", "triangle", "rectRot"];

  const isLine = (chart) => chart.places.length > 0;

  const lines = (chart, series, index, ink) => ({
    data: series.values.map((y, place) => ({ x: chart.places[place], y })),
    borderColor: ink,
    backgroundColor: series.band ? `${ink}33` : ink,
    borderWidth: series.band ? 0 : 2,
    borderDash: DASHES[index % DASHES.length],
    pointStyle: POINTS[index % POINTS.length],
    pointRadius: series.band ? 0 : 2.5,
    fill: series.band === "to" ? "-1" : false,
    spanGaps: true,
  });

  // An interval is a narrow bar over the others.
  const bars = (chart, series, index, ink) => ({
    data: series.band
      ? series.values.map((high, place) => [chart.series[index - 1].values[place], high])
      : series.values,
    backgroundColor: ink,
    maxBarThickness: series.band ? 4 : 42,
    grouped: !series.band,
    order: series.band ? -1 : 0,
  });

  const datasets = (chart, colours) => {
    const shown = chart.series.map((series, index) => {
      const own = series.band && isLine(chart) ? colours.series[0] : colours.series[index % colours.series.length];
      const ink = series.muted ? colours.muted : own;
      const data = isLine(chart) ? lines(chart, series, index, ink) : bars(chart, series, index, ink);
      return { name: series.name, label: series.band ? "95% interval" : series.name, band: series.band, ...data };
    });
    return isLine(chart) ? shown : shown.filter((one) => one.band !== "from");
  };

  const MINUTE = 60_000;
  const HOUR = 60 * MINUTE;
  const DAY = 24 * HOUR;
  const STEPS = [
    ...[1, 2, 5, 10, 15, 30].map((n) => n * 1000),
    ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
    ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
    ...[1, 2, 7, 14, 28, 91, 182, 364].map((n) => n * DAY),
  ];

  // At round times, as many as have room for their words.
  const buildTimeTicks = (scale) => {
    const room = Math.max(3, Math.floor(scale.width / 80));
    const step = STEPS.find((one) => (scale.max - scale.min) / one <= room) ?? STEPS.at(-1);
    scale.ticks = [];
    for (let at = Math.ceil(scale.min / step) * step; at <= scale.max; at += step) {
      scale.ticks.push({ value: at });
    }
  };

  // The day, or of whole days the year, stands where it begins.
  const timeInWords = (value, index, ticks) => {
    const step = ticks.length > 1 ? ticks[1].value - ticks[0].value : MINUTE;
    const [from, to, end] = step < MINUTE ? [11, 19, 10] : step < DAY ? [11, 16, 10] : [5, 10, 4];
    const iso = (one) => new Date(one).toISOString();
    const words = iso(value).slice(from, to);
    const whole = iso(value).slice(0, end);
    const isNew = !index || iso(ticks[index - 1].value).slice(0, end) !== whole;
    return isNew ? [words, whole] : words;
  };

  const acrossOf = (chart, axis) => {
    if (!isLine(chart)) return { ...axis, stacked: chart.kind === "stack" };
    const [first, last] = [chart.places[0], chart.places.at(-1)];
    const alone = first === last ? HOUR / 2 : 0;
    const ends = { ...axis, type: "linear", min: first - alone, max: last + alone };
    if (chart.kind !== "time") return { ...ends, min: first, max: last, ticks: { ...axis.ticks, precision: 0 } };
    return { ...ends, afterBuildTicks: buildTimeTicks, ticks: { ...axis.ticks, callback: timeInWords } };
  };

  const configuration = (chart) => {
    const colours = palette();
    const axis = { grid: { color: colours.line }, ticks: { color: colours.text, maxRotation: 0, autoSkip: true } };
    const title = (text) => ({ display: Boolean(text), text, color: colours.text });
    return {
      type: isLine(chart) ? "line" : "bar",
      data: { labels: chart.labels, datasets: datasets(chart, colours) },
      options: {
        animation: false,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        plugins: {
          legend: {
            display: chart.series.length > 1,
            labels: {
              color: colours.text,
              usePointStyle: isLine(chart),
              boxWidth: 14,
              filter: (item, data) => data.datasets[item.datasetIndex].band !== "from",
            },
          },
          tooltip: {
            callbacks: {
              title: ([first]) => first && chart.labels[first.dataIndex],
              label: ({ dataset, formattedValue }) => `${dataset.name}: ${formattedValue}`,
            },
          },
        },
        scales: {
          x: { ...acrossOf(chart, axis), title: title(chart.axis) },
          y: {
            ...axis,
            stacked: chart.kind === "stack",
            beginAtZero: chart.least === null,
            min: chart.least ?? undefined,
            max: chart.most ?? undefined,
            title: title(chart.unit),
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
