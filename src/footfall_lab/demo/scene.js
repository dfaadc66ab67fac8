// Draw robots that walk: SCENE has positions of all frames, see scene.py.
(() => {
  const canvas = document.getElementById("scene"), pen = canvas.getContext("2d"), play = document.getElementById("play");
  const robots = SCENE.robots.map(robot => {
    const bytes = Uint8Array.from(atob(robot.frames), c => c.charCodeAt(0));
    return {...robot, data: new Int16Array(bytes.buffer), frames: bytes.length / 6 / robot.count};
  });
  const frames = Math.min(...robots.map(robot => robot.frames));
  const sides = [[0,1,3,2],[4,6,7,5],[0,4,5,1],[2,3,7,6],[0,2,6,4],[1,5,7,3]];
  let azimuth = -1.05, elevation = 0.28, distance = 1.95, clock = 0, last = null, drag = null;
  let playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  const point = (robot, frame, k) => {
    const i = 3 * (frame * robot.count + k);
    return [robot.data[i] / 1e3, robot.data[i + 1] / 1e3, robot.data[i + 2] / 1e3];
  };
  function draw(frame) {
    const scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale)) {
      canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale);
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const sky = pen.createLinearGradient(0, 0, 0, height);
    sky.addColorStop(0, "#eef3f8"); sky.addColorStop(1, "#ffffff");
    pen.fillStyle = sky; pen.fillRect(0, 0, width, height);
    const solid = robots.filter(robot => !robot.ghost);
    const ahead = solid.reduce((sum, robot) => sum + point(robot, frame, 0)[0] + point(robot, frame, 7)[0], 0)
      / (2 * solid.length);
    const ca = Math.cos(azimuth), sa = Math.sin(azimuth), ce = Math.cos(elevation), se = Math.sin(elevation);
    const narrow = Math.min(1, width / 640), far = distance / Math.max(0.55, narrow), focal = 1.55 * height;
    const project = p => {
      const x = p[0] - ahead, y = p[1], z = p[2] - 0.2;
      const right = -sa * x + ca * y, toward = ce * (ca * x + sa * y) + se * z;
      const up = -se * (ca * x + sa * y) + ce * z, depth = far - toward;
      return [width / 2 + focal * right / depth, 0.49 * height - focal * up / depth, depth];
    };
    const line = (a, b) => { pen.beginPath(); pen.moveTo(a[0], a[1]); pen.lineTo(b[0], b[1]); pen.stroke(); };
    pen.lineCap = "round"; pen.lineJoin = "round";
    const step = 0.25, first = Math.floor((ahead - 2) / step) * step;
    pen.lineWidth = 1;
    for (let x = first; x < ahead + 2; x += step) {
      pen.strokeStyle = `rgba(120,135,150,${0.30 * Math.max(0, 1 - Math.abs(x - ahead) / 2)})`;
      line(project([x, -1.5, 0]), project([x, 1.5, 0]));
    }
    for (let y = -1.5; y <= 1.5; y += step) {
      pen.strokeStyle = `rgba(120,135,150,${0.24 * (1 - Math.abs(y) / 1.8)})`;
      line(project([ahead - 1.8, y, 0]), project([ahead + 1.8, y, 0]));
    }
    const flat = p => project([p[0], p[1], 0]);
    for (const robot of solid) {
      pen.fillStyle = pen.strokeStyle = "rgba(30,40,55,0.10)";
      const at = k => flat(point(robot, frame, k));
      for (const face of [sides[4]]) {
        pen.beginPath(); face.forEach((k, n) => { const p = at(k); n ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1]); });
        pen.closePath(); pen.fill();
      }
      for (const chain of robot.chains)
        for (let k = 1; k < chain.length; k++) {
          const a = at(chain[k - 1]); pen.lineWidth = 2e-3 * robot.radius * focal / a[2];
          line(a, at(chain[k]));
        }
    }
    const pieces = [];
    for (const robot of robots) {
      robot.chains.forEach((chain, leg) => {
        for (let k = 1; k < chain.length; k++) {
          const a = project(point(robot, frame, chain[k - 1])), b = project(point(robot, frame, chain[k]));
          pieces.push({depth: (a[2] + b[2]) / 2, robot, leg, a, b, part: k / (chain.length - 1)});
        }
      });
      const middle = point(robot, frame, 0).map((v, i) => (v + point(robot, frame, 7)[i]) / 2);
      pieces.push({depth: project(middle)[2], robot, trunk: true});
    }
    pieces.sort((a, b) => b.depth - a.depth || (b.robot.ghost - a.robot.ghost));
    for (const piece of pieces) {
      const {robot} = piece;
      if (piece.trunk) {
        const p = [...Array(8).keys()].map(k => project(point(robot, frame, k)));
        const faces = sides.map((face, n) => ({face, n, depth: face.reduce((s, k) => s + p[k][2], 0)}));
        faces.sort((a, b) => b.depth - a.depth);
        for (const {face, n} of robot.ghost ? faces : faces.slice(3)) {
          pen.beginPath(); face.forEach((k, i) => i ? pen.lineTo(p[k][0], p[k][1]) : pen.moveTo(p[k][0], p[k][1]));
          pen.closePath();
          if (robot.ghost) { pen.strokeStyle = "rgba(213,94,0,0.55)"; pen.lineWidth = 1.2; pen.stroke(); }
          else {
            pen.fillStyle = ["#39434f", "#39434f", "#434f5d", "#434f5d", "#2e3640", "#566475"][n]; pen.fill();
            pen.strokeStyle = "#242b33"; pen.lineWidth = 0.8; pen.stroke();
          }
        }
        continue;
      }
      const {a, b} = piece, wide = 2e-3 * robot.radius * focal / piece.depth * (piece.part > 0.99 ? 0.75 : 1);
      if (robot.ghost) { pen.strokeStyle = "rgba(213,94,0,0.55)"; pen.lineWidth = Math.max(1.2, 0.22 * wide); line(a, b); }
      else {
        pen.strokeStyle = "#14405f"; pen.lineWidth = wide + 1.4; line(a, b);
        pen.strokeStyle = "#0072b2"; pen.lineWidth = wide; line(a, b);
        if (piece.part > 0.99) {
          pen.fillStyle = "#1d232a"; pen.beginPath(); pen.arc(b[0], b[1], 0.62 * wide, 0, 7); pen.fill();
        }
      }
    }
    pen.font = `600 ${width < 500 ? 11 : 13}px system-ui, sans-serif`; pen.textAlign = "center";
    for (const robot of solid) {
      const top = project(point(robot, frame, 7).map((v, i) => i < 2 ? (v + point(robot, frame, 0)[i]) / 2 : v + 0.12));
      pen.fillStyle = "#1d232a"; pen.fillText(robot.name, top[0], top[1]);
    }
    pen.textAlign = "left"; pen.font = "12px system-ui, sans-serif"; pen.fillStyle = "#5b6673";
    pen.fillText(`${(frame / SCENE.rate).toFixed(1)} s`, 12, height - 12);
  }
  function tick(now) {
    if (playing && last !== null) clock = (clock + (now - last) / 1e3) % (frames / SCENE.rate);
    last = now; draw(Math.min(frames - 1, Math.floor(clock * SCENE.rate))); requestAnimationFrame(tick);
  }
  const show = () => { play.textContent = playing ? "❚❚" : "▶"; play.setAttribute("aria-label", playing ? "pause" : "play"); };
  play.onclick = () => { playing = !playing; show(); };
  canvas.onpointerdown = event => { drag = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); };
  canvas.onpointerup = canvas.onpointercancel = () => { drag = null; };
  canvas.onpointermove = event => {
    if (!drag) return;
    azimuth -= 0.008 * (event.clientX - drag[0]);
    elevation = Math.max(0.02, Math.min(1.4, elevation + 0.006 * (event.clientY - drag[1])));
    drag = [event.clientX, event.clientY];
  };
  show(); requestAnimationFrame(tick);
})();
