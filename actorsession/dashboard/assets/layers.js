/**
 * Where boxes, frames and arrows stand: layers by dagre. Plain data in and out.
 *
 * With frames around boxes dagre takes seconds for some hundred arrows, so a large picture is laid out frame by frame, from
 * the inside to the outside: an arrow between boxes of two frames then joins the frames, and equal ones are one.
 */

import { Graph, layout } from "./vendor/dagre.esm.js";

const NAME = 20; // pixels of a frame above what is in it, for its name
const EDGE = 12; // pixels between a frame and what is in it
const LABEL = 16; // height of a label
const MANY = 60; // arrows up to which frames and boxes are laid out together

/**
 * Lay out ``boxes``: {id, width, height, group} and ``arrows``: {from, to, label, labelWidth, weight, kind, tip}.
 *
 * Returns {width, height, boxes: Map of id to {x, y, width, height}, frames: [{path, x, y, width, height}],
 * arrows: [{arrow, points, x, y, width, height}]}; x and y are middles.
 */
export function arrange(boxes, arrows, down) {
  const known = new Set(boxes.map((box) => box.id));
  const drawn = arrows.filter((arrow) => known.has(arrow.from) && known.has(arrow.to));
  return drawn.length > MANY && boxes.some((box) => box.group.length > 0)
    ? by_frames(boxes, drawn, down)
    : together(boxes, drawn, down);
}

function new_graph(options, down) {
  const graph = new Graph({ multigraph: true, compound: options.compound ?? false });
  graph.setGraph({ rankdir: down ? "TB" : "LR", nodesep: 16, ranksep: 36, edgesep: 8, ...options });
  return graph;
}

const edge = (arrow) => ({
  arrow,
  width: arrow.label ? arrow.labelWidth : 0,
  height: arrow.label ? LABEL : 0,
  labelpos: "c",
});

const frame_id = (path) => `frame ${path.join("\n")}`;

function together(boxes, arrows, down) {
  const deepest = Math.max(0, ...boxes.map((box) => box.group.length));
  const room = NAME * deepest;
  const apart = down ? { ranksep: 36 + room / 2 } : { nodesep: 16 + room };
  const graph = new_graph({ compound: true, marginx: EDGE, marginy: EDGE + room, ...apart }, down);
  const frames = new Map();
  for (const box of boxes) {
    graph.setNode(`box ${box.id}`, { width: box.width, height: box.height });
    box.group.forEach((_, depth) => {
      const path = box.group.slice(0, depth + 1);
      if (!frames.has(frame_id(path))) graph.setNode(frame_id(path), {});
      frames.set(frame_id(path), path);
      if (depth > 0) graph.setParent(frame_id(path), frame_id(path.slice(0, -1)));
    });
    if (box.group.length > 0) graph.setParent(`box ${box.id}`, frame_id(box.group));
  }
  arrows.forEach((arrow, index) => graph.setEdge(`box ${arrow.from}`, `box ${arrow.to}`, edge(arrow), String(index)));
  layout(graph);
  const paths = [...frames.values()].sort((a, b) => a.length - b.length);
  const within = (path) =>
    Math.max(
      ...paths
        .filter((other) => path.every((name, at) => other[at] === name))
        .map((other) => other.length - path.length),
    );
  const framed = paths.map((path) => {
    const { x, y, width, height } = graph.node(frame_id(path));
    const above = NAME * (1 + within(path)); // dagre leaves no room for names
    return { path, x, y: y - above / 2, width, height: height + above };
  });
  return {
    width: graph.graph().width,
    height: graph.graph().height,
    boxes: new Map(boxes.map((box) => [box.id, graph.node(`box ${box.id}`)])),
    frames: framed,
    arrows: graph.edges().map((id) => graph.edge(id)),
  };
}

function by_frames(boxes, arrows, down) {
  const root = { path: [], boxes: [], frames: new Map(), edges: new Map() };
  const frames_of = new Map(); // id of a box to the frames around it, from the outside
  for (const box of boxes) {
    const around = [root];
    for (const name of box.group) {
      const frame = around.at(-1);
      if (!frame.frames.has(name))
        frame.frames.set(name, { path: [...frame.path, name], boxes: [], frames: new Map(), edges: new Map() });
      around.push(frame.frames.get(name));
    }
    around.at(-1).boxes.push(box);
    frames_of.set(box.id, around);
  }
  for (const arrow of arrows) join(arrow, frames_of);
  const placed = { boxes: new Map(), frames: [], arrows: [] };
  const { width, height } = place(root, down, placed);
  placed.frames.reverse(); // the outer ones first, so that they are drawn below
  return { width, height, ...placed };
}

/** Put an arrow into the frame that holds both of its ends, between what is there: boxes or frames. */
function join(arrow, frames_of) {
  const [from, to] = [frames_of.get(arrow.from), frames_of.get(arrow.to)];
  let at = 0;
  while (at + 1 < from.length && at + 1 < to.length && from[at + 1] === to[at + 1]) at++;
  const end = (around, id) => (around.length > at + 1 ? frame_id(around[at + 1].path) : `box ${id}`);
  const [source, target] = [end(from, arrow.from), end(to, arrow.to)];
  const key = `${source}\0${target}`;
  const edges = from[at].edges;
  edges.set(key, { source, target, arrows: [...(edges.get(key)?.arrows ?? []), arrow] });
}

/** Lay out a frame after those in it, and return its size; middles are within the frame until the outer one moves them. */
function place(frame, down, placed) {
  const graph = new_graph({ marginx: EDGE, marginy: EDGE }, down);
  for (const box of frame.boxes) graph.setNode(`box ${box.id}`, { width: box.width, height: box.height, box });
  for (const inner of frame.frames.values()) {
    const inside = { boxes: new Map(), frames: [], arrows: [] };
    graph.setNode(frame_id(inner.path), { ...place(inner, down, inside), inner, inside });
  }
  for (const { source, target, arrows } of frame.edges.values()) graph.setEdge(source, target, edge(merged(arrows)));
  layout(graph);
  const top = frame.path.length > 0 ? NAME : 0;
  for (const id of graph.nodes()) {
    const at = graph.node(id);
    at.y += top;
    if (at.box) placed.boxes.set(at.box.id, at);
    else {
      const [left, up] = [at.x - at.width / 2, at.y - at.height / 2];
      const moved = (each) => ({ ...each, x: each.x + left, y: each.y + up });
      for (const [box, where] of at.inside.boxes) placed.boxes.set(box, moved(where));
      placed.frames.push(...at.inside.frames.map(moved));
      placed.arrows.push(
        ...at.inside.arrows.map((each) => ({
          ...moved(each),
          points: each.points.map(({ x, y }) => ({ x: x + left, y: y + up })),
        })),
      );
      placed.frames.push({ path: at.inner.path, x: at.x, y: at.y, width: at.width, height: at.height });
    }
  }
  for (const id of graph.edges()) {
    const at = graph.edge(id);
    placed.arrows.push({ ...at, y: at.y + top, points: at.points.map(({ x, y }) => ({ x, y: y + top })) });
  }
  return { width: graph.graph().width, height: graph.graph().height + top };
}

/** Return one arrow for several that join the same frames. */
function merged(arrows) {
  if (arrows.length === 1) return arrows[0];
  const weight = arrows.reduce((sum, arrow) => sum + (arrow.weight ?? 1), 0);
  const kinds = new Set(arrows.map((arrow) => arrow.kind));
  return {
    ...arrows[0],
    label: "",
    weight,
    kind: kinds.size === 1 ? arrows[0].kind : "",
    tip: `${weight} tensors\n${arrows
      .slice(0, 20)
      .map((arrow) => arrow.tip)
      .join("\n")}`,
  };
}
