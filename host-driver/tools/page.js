"use strict";
// Hover and zoom in the memory map. All that this adds can be read without it: names stand in the SVG's titles.
(function () {
    const figure = document.getElementById("map"), svg = figure.querySelector("svg"), stays = document.getElementById("stays");
    const labels = document.getElementById("labels"), rows = document.getElementById("rows"), columns = document.getElementById("columns");
    const tip = document.getElementById("tip"), tools = document.getElementById("tools"), name = "http://www.w3.org/2000/svg";
    const number = (key) => Number(stays.dataset[key]);
    const left = number("left"), top = number("top"), width = number("width"), height = number("height");
    const bytes = number("bytes"), length = number("length"), unit = stays.dataset.unit;
    // The part that is shown, in shares of the whole; y counts from the top.
    let view = { x: 0, y: 0, w: 1, h: 1 };
    const most = 4000;

    // Every rectangle once, so that a zoom asks the document nothing.
    const boxes = [];
    for (const group of [...stays.children]) { // A list of its own: the live one is counted anew at each change below it.
        const title = group.querySelector("title"), says = title.textContent;
        title.remove(); // The browser's own hint would stand beside ours.
        group.setAttribute("aria-label", says);
        const id = (/allocation (\d+)/.exec(says) || ["", ""])[1];
        for (const box of group.querySelectorAll("rect")) {
            const at = (key) => Number(box.getAttribute(key));
            boxes.push({ id: id, x: at("x"), y: at("y"), w: at("width"), h: at("height") });
        }
    }

    // As exactly as neighbours on an axis, so many bytes apart, need it.
    function size(value, apart) {
        const units = ["B", "KiB", "MiB", "GiB", "TiB"];
        let at = 0, unit = 1;
        while (value / unit >= 1024 && at + 1 < units.length) {
            unit *= 1024;
            at++;
        }
        const share = apart / unit, digits = !(share < 0.5) ? 1 : Math.min(6, Math.ceil(-Math.log10(share)) + 1);
        return (at ? (value / unit).toFixed(digits) : String(Math.round(value))) + " " + units[at];
    }

    function add(parent, kind, attributes, text) {
        const made = document.createElementNS(name, kind);
        for (const key of Object.keys(attributes)) made.setAttribute(key, attributes[key]);
        if (text !== undefined) made.textContent = text;
        parent.appendChild(made);
        return made;
    }

    function step(range, ticks, two) {
        let found = two ? 4096 : 0.001;
        for (let i = 0; range / found > ticks; i++) found *= two ? 2 : i % 3 === 1 ? 2.5 : 2;
        return found;
    }

    function drawAxes() {
        rows.textContent = columns.textContent = "";
        const low = (1 - view.y - view.h) * bytes, high = (1 - view.y) * bytes, deep = step(high - low, 8, true);
        for (let at = Math.ceil(low / deep - 1e-9) * deep; at <= high * (1 + 1e-9); at += deep)
            add(rows, "text", { x: left - 8, y: top + ((high - at) / (high - low)) * height + 4.5 }, size(at, deep));
        const from = view.x * length, range = view.w * length, wide = step(range, 14, false);
        for (let at = Math.ceil(from / wide - 1e-9) * wide; at <= (from + range) * (1 + 1e-9); at += wide) {
            const x = left + ((at - from) / range) * width;
            add(columns, "path", { d: "M" + x + " " + (top + height) + "v6", stroke: "#57606a" });
            add(columns, "text", { x: x, y: top + height + 21 }, String(Number(at.toPrecision(8))));
        }
    }

    // Names where there is room for them now.
    function drawLabels() {
        labels.textContent = "";
        let count = 0;
        for (const box of boxes) {
            const x = left + (box.x - left) / view.w - (view.x / view.w) * width, w = box.w / view.w;
            const y = top + (box.y - top) / view.h - (view.y / view.h) * height, h = box.h / view.h;
            const seenFrom = Math.max(x, left), seenTo = Math.min(x + w, left + width);
            const above = Math.max(y, top), below = Math.min(y + h, top + height);
            if (below - above < 12 || seenTo - seenFrom < 1 + 5.5 * (box.id.length + 1) || count++ > 600) continue;
            add(labels, "text", { x: (seenFrom + seenTo) / 2, y: (above + below) / 2 + 3.6 }, box.id);
        }
    }

    function show(wanted) {
        const w = Math.min(1, Math.max(1 / most, wanted.w)), h = Math.min(1, Math.max(1 / most, wanted.h));
        view = { w: w, h: h, x: Math.min(1 - w, Math.max(0, wanted.x)), y: Math.min(1 - h, Math.max(0, wanted.y)) };
        stays.setAttribute("transform", "matrix(" + 1 / w + " 0 0 " + 1 / h + " " + (left - (left + view.x * width) / w) + " " +
            (top - (top + view.y * height) / h) + ")");
        drawAxes();
        drawLabels();
        figure.dataset.view = [view.x, view.y, view.w, view.h].join(" ");
    }

    // A factor about a point that stays where it is.
    function zoom(factor, x, y) {
        show({ x: x - (x - view.x) * factor, y: y - (y - view.y) * factor, w: view.w * factor, h: view.h * factor });
    }

    // Where the pointer is, in shares of the whole.
    function place(event) {
        const matrix = svg.getScreenCTM(), point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
        const x = (point.x - left) / width, y = (point.y - top) / height;
        return { inside: x >= 0 && x <= 1 && y >= 0 && y <= 1, x: view.x + x * view.w, y: view.y + y * view.h, px: point.x, py: point.y };
    }

    let lit = null;
    function hover(event) {
        const at = place(event);
        const group = at.inside && event.target.closest ? event.target.closest("#stays > g") : null;
        if (lit && lit !== group) lit.classList.remove("on");
        lit = group;
        if (!group) {
            tip.hidden = true;
            return;
        }
        group.classList.add("on");
        const moment = unit === "ms" ? (at.x * length).toFixed(2) + " ms" : unit + " " + (at.x * length).toFixed(1);
        tip.textContent = group.getAttribute("aria-label") + "\n" + moment + ", offset " + size((1 - at.y) * bytes);
        tip.hidden = false;
        const room = tip.getBoundingClientRect();
        tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - room.width - 8)) + "px";
        tip.style.top = Math.max(4, event.clientY + 16 + room.height > innerHeight ? event.clientY - room.height - 12 : event.clientY + 16) + "px";
    }

    let begin = null, frame = null;
    function drag(event) {
        const at = place(event);
        if (!frame) frame = add(svg, "rect", { fill: "#0969da", "fill-opacity": 0.15, stroke: "#0969da", "pointer-events": "none" });
        const x = Math.min(left + width, Math.max(left, at.px)), y = Math.min(top + height, Math.max(top, at.py));
        frame.setAttribute("x", Math.min(x, begin.px));
        frame.setAttribute("y", Math.min(y, begin.py));
        frame.setAttribute("width", Math.abs(x - begin.px));
        frame.setAttribute("height", Math.abs(y - begin.py));
    }
    function drop() {
        if (frame) {
            const at = (key) => Number(frame.getAttribute(key)), w = at("width") / width, h = at("height") / height;
            if (w > 0.005 && h > 0.005)
                show({ x: view.x + ((at("x") - left) / width) * view.w, y: view.y + ((at("y") - top) / height) * view.h,
                    w: w * view.w, h: h * view.h });
            frame.remove();
        }
        begin = frame = null;
    }

    svg.addEventListener("pointerdown", (event) => {
        const at = place(event);
        if (event.button === 0 && at.inside) begin = at;
    });
    svg.addEventListener("pointermove", (event) => (begin && event.buttons ? drag(event) : hover(event)));
    addEventListener("pointerup", drop);
    addEventListener("pointercancel", drop);
    svg.addEventListener("pointerleave", () => {
        tip.hidden = true;
        if (lit) lit.classList.remove("on");
    });
    svg.addEventListener("dblclick", () => show({ x: 0, y: 0, w: 1, h: 1 }));
    svg.addEventListener("wheel", (event) => {
        const at = place(event);
        if (!(event.ctrlKey || event.metaKey) || !at.inside) return;
        event.preventDefault();
        zoom(Math.exp(event.deltaY * 0.002), at.x, at.y);
    }, { passive: false });
    const middle = (factor) => zoom(factor, view.x + view.w / 2, view.y + view.h / 2);
    const move = (x, y) => show({ x: view.x + x * view.w, y: view.y + y * view.h, w: view.w, h: view.h });
    const keys = { "+": () => middle(0.5), "=": () => middle(0.5), "-": () => middle(2), "0": () => show({ x: 0, y: 0, w: 1, h: 1 }),
        ArrowLeft: () => move(-0.2, 0), ArrowRight: () => move(0.2, 0), ArrowUp: () => move(0, -0.2), ArrowDown: () => move(0, 0.2) };
    figure.addEventListener("keydown", (event) => {
        if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        keys[event.key]();
    });
    const buttons = { in: keys["+"], out: keys["-"], all: keys["0"] };
    tools.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button) buttons[button.dataset.do]();
    });
    for (const rect of stays.querySelectorAll("rect")) rect.setAttribute("vector-effect", "non-scaling-stroke");
    tools.hidden = false;
    figure.classList.add("live");
    figure.dataset.view = "0 0 1 1";
})();
