/**
 * A graph of many nodes as a tree of scopes of which some are open. Plain data: what is drawn is ``Scopes.visible``.
 *
 * Only open scopes are looked into, so a drawing of twenty thousand nodes has as many boxes as somebody has opened. Within a
 * scope, nodes whose names differ in their number alone (``Add``, ``Add_1``, ...) are a series once there are many, and a
 * series that is opened is divided into pages.
 */

const SERIES = 4; // nodes of one name that are drawn one by one
const CROWD = 24; // children of a scope that are all drawn
const PAGE = 40; // nodes of a series that are opened at once

class Scope {
  children = new Map();
  nodes = 0;
  seconds = 0;

  /** ``path`` is the path of scopes, ``node`` the node that a leaf stands for. */
  constructor(name, path, parent, node = null) {
    Object.assign(this, { name, path, parent, node, id: path.join("\n"), open: false, series: false });
  }

  get leaf() {
    return this.node !== null && this.children.size === 0;
  }
}

export class Scopes {
  #of = new Map(); // name of a node to its leaf
  #drawn = null; // what is drawn, until a scope is opened or closed
  nodes;
  root = new Scope("", [], null);

  constructor(nodes) {
    this.nodes = nodes;
    for (const node of nodes) this.#add(node);
    this.#divide(this.root);
    this.root.open = true;
    for (let only = this.root; only.children.size === 1 && !only.leaf; [only] = only.children.values())
      only.children.values().next().value.open = true;
  }

  #add(node) {
    let scope = this.root;
    for (const name of node.name.split("/")) {
      if (!scope.children.has(name)) scope.children.set(name, new Scope(name, [...scope.path, name], scope));
      scope = scope.children.get(name);
    }
    scope.node = node;
    this.#of.set(node.name, scope);
    for (let each = scope; each; each = each.parent) {
      each.nodes++;
      each.seconds += node.seconds ?? 0;
    }
  }

  /** Put the many children of one name into series, here and below. */
  #divide(scope) {
    for (const child of [...scope.children.values()]) this.#divide(child);
    if (scope.children.size <= CROWD) return;
    const alike = new Map();
    for (const child of scope.children.values()) {
      const name = child.name.replace(/_?\d+$/, "");
      alike.set(name, [...(alike.get(name) ?? []), child]);
    }
    if (alike.size > CROWD * 4) {
      // Names without any order: pages of them, as they come.
      this.#pages(scope, "", [...scope.children.values()]);
      return;
    }
    for (const [name, members] of alike) if (members.length > SERIES) this.#pages(scope, name, members);
  }

  #pages(scope, name, members) {
    const pages =
      members.length <= PAGE
        ? [members]
        : Array.from({ length: Math.ceil(members.length / PAGE) }, (_, at) =>
            members.slice(at * PAGE, (at + 1) * PAGE),
          );
    let parent = scope;
    for (const member of members) scope.children.delete(member.name);
    if (pages.length > 1 && name !== "") parent = this.#series(scope, `${name} ×${members.length}`, members);
    if (pages.length <= CROWD * 2) {
      for (const page of pages) this.#into(this.#series(parent, this.#title(name, page, pages.length), page), page);
      return;
    }
    const size = Math.ceil(pages.length / CROWD);
    for (let at = 0; at < pages.length; at += size) {
      const several = pages.slice(at, at + size);
      const inner = this.#series(parent, this.#title(name, several.flat(), 2), several.flat());
      for (const page of several) this.#into(this.#series(inner, this.#title(name, page, 2), page), page);
    }
  }

  #title = (name, page, pages) =>
    pages === 1 && name !== "" ? `${name} ×${page.length}` : `${page[0].name} … ${page.at(-1).name}`;

  #series(parent, name, members) {
    const key = `${name}\0`; // no node has this name
    const series = new Scope(name, [...parent.path, name], parent);
    series.id = [...parent.path, key].join("\n");
    series.series = true;
    for (const member of members) {
      series.nodes += member.nodes;
      series.seconds += member.seconds;
    }
    parent.children.set(key, series);
    return series;
  }

  #into(series, members) {
    for (const member of members) {
      series.children.set(member.name, member);
      member.parent = series;
      this.#move(member);
    }
  }

  #move(scope) {
    scope.path = [...scope.parent.path, scope.name];
    scope.id = scope.path.join("\n");
    for (const child of scope.children.values()) this.#move(child);
  }

  /** Return the scope of an id. */
  find(id) {
    return this.visible().boxes.find((scope) => scope.id === id) ?? null;
  }

  /** Open a scope. */
  open(scope) {
    scope.open = true;
    this.#drawn = null;
  }

  /** Open all scopes around a node, and return its id. */
  reveal(name) {
    const leaf = this.#of.get(name);
    for (let scope = leaf?.parent; scope; scope = scope.parent) this.open(scope);
    return leaf ? (leaf.leaf ? leaf.id : `${leaf.id}\nitself`) : null;
  }

  /** Close a scope and what is in it. */
  close(scope) {
    scope.open = false;
    this.#drawn = null;
    for (const child of scope.children.values()) this.close(child);
  }

  /** Return the scope of a path of names, as frames have it. */
  at(path) {
    let scope = this.root;
    for (const name of path) scope = scope.children.get(name) ?? scope.children.get(`${name}\0`) ?? scope;
    return scope;
  }

  /** Return what is drawn: scopes and nodes, and the edges between them with the tensors of each. */
  visible() {
    this.#drawn ??= this.#visible();
    return this.#drawn;
  }

  #visible() {
    const boxes = [];
    const of = new Map();
    const walk = (scope) => {
      if (scope.open && scope.children.size > 0) {
        if (scope.node)
          boxes.push({ ...scope, id: `${scope.id}\nitself`, leaf: true, path: [...scope.path, scope.name] });
        for (const child of scope.children.values()) walk(child);
      } else boxes.push(scope);
    };
    walk(this.root);
    const drawn = (name) => {
      if (of.has(name)) return of.get(name);
      const leaf = this.#of.get(name);
      let found = leaf ?? null;
      for (let scope = leaf?.parent; scope; scope = scope.parent) if (!scope.open) found = scope;
      const id = found && (found === leaf && leaf.open && leaf.children.size > 0 ? `${found.id}\nitself` : found.id);
      of.set(name, id);
      return id;
    };
    const edges = new Map();
    for (const node of this.nodes) {
      const to = drawn(node.name);
      for (const input of node.inputs) {
        const control = input.startsWith("^");
        const from = drawn(input.replace(/^\^/, "").replace(/:\d+$/, ""));
        if (from === null || from === to) continue;
        const key = `${from}\0${to}`;
        const edge = edges.get(key) ?? { from, to, inputs: [], control: true };
        edge.inputs.push(input);
        edge.control &&= control;
        edges.set(key, edge);
      }
    }
    return { boxes, edges: [...edges.values()] };
  }
}
