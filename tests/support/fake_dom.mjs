// The part of the DOM that the page's modules use, for tests in node.

export class FakeElement {
  constructor(name) {
    this.name = name;
    this.attributes = new Map();
    this.children = [];
    this.parentElement = null;
    this.listeners = {};
    this.dataset = {};
    this.animations = [];
    this.removals = 0;
    this.clientWidth = 0;
    this.properties = new Map();
    this.style = { setProperty: (name, value) => this.properties.set(name, value) };
    const classes = new Set();
    this.classList = {
      add: (one) => classes.add(one),
      contains: (one) => classes.has(one),
      toggle: (one, isOn) => (isOn ? classes.add(one) : classes.delete(one)),
    };
  }

  get textContent() {
    return this.children.map((child) => child.textContent ?? child).join("");
  }
  set textContent(text) {
    this.replaceChildren(String(text));
  }

  get id() {
    return this.getAttribute("id") ?? "";
  }
  set id(id) {
    this.setAttribute("id", id);
  }

  set className(classes) {
    this.setAttribute("class", classes);
  }

  setAttribute(name, value) {
    this.attributes.set(name, String(value));
    if (name.startsWith("data-")) this.dataset[name.slice("data-".length)] = String(value);
  }
  getAttribute = (name) => this.attributes.get(name) ?? null;
  removeAttribute = (name) => void this.attributes.delete(name);
  hasAttribute = (name) => this.attributes.has(name);

  append(...children) {
    for (const child of children) {
      child.remove?.(false);
      if (child instanceof FakeElement) child.parentElement = this;
      this.children.push(child instanceof FakeElement ? child : String(child));
    }
  }
  replaceChildren(...children) {
    for (const child of this.children) if (child instanceof FakeElement) child.parentElement = null;
    this.children = [];
    this.append(...children);
  }
  after(...children) {
    const place = this.parentElement.children, at = place.indexOf(this) + 1;
    for (const child of children) child.parentElement = this.parentElement;
    place.splice(at, 0, ...children);
  }
  remove(isCounted = true) {
    if (isCounted) this.removals += 1;
    if (!this.parentElement) return;
    this.parentElement.children = this.parentElement.children.filter((child) => child !== this);
    this.parentElement = null;
  }
  /** Only "[name=value]" selectors, and ".class" of an element with one class. */
  querySelector(selector) {
    const [, name, value] = /^\[([\w-]+)=(\w+)\]$/.exec(selector.replace(/^\.([\w-]+)$/, "[class=$1]"));
    return this.all().find((one) => one.getAttribute(name) === value) ?? null;
  }
  querySelectorAll(selectors) {
    return selectors.split(", ").flatMap((selector) => this.querySelector(selector) ?? []);
  }
  contains(other) {
    return other === this || this.all().includes(other);
  }
  get childElementCount() {
    return this.children.filter((child) => child instanceof FakeElement).length;
  }
  get firstChild() {
    return this.children[0];
  }
  get lastChild() {
    return this.children.at(-1);
  }
  all() {
    return this.children.flatMap((child) => (child instanceof FakeElement ? [child, ...child.all()] : []));
  }

  addEventListener(kind, listener, isCapturing = false) {
    (this.listeners[kind] ??= []).push({ listener, isCapturing });
  }
  fire(kind, event = {}) {
    for (const { listener } of this.listeners[kind] ?? []) listener(event);
  }
  dispatchEvent(event) {
    this.fire(event.type, event);
  }
  click = () => this.fire("click");
  focus(options) {
    document.activeElement = this;
    this.focusOptions = options;
  }
  animate(frames, options) {
    this.animations.push({ frames, options });
  }
}

export function useFakeDom() {
  globalThis.document = {
    baseURI: "http://here:1/page/",
    activeElement: null,
    documentElement: { dataset: {}, lang: "en" },
    body: new FakeElement("body"),
    createElement: (name) => new FakeElement(name),
    createElementNS: (space, name) => Object.assign(new FakeElement(name), { space }),
  };
  globalThis.window = { innerWidth: 1000 };
  globalThis.ResizeObserver = class {
    static all = [];
    constructor(changed) {
      this.changed = changed;
      ResizeObserver.all.push(this);
    }
    observe(element) {
      this.element = element;
    }
  };
}
