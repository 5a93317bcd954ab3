/**
 * What the server knows, read again and again.
 *
 * A view watches paths. While the server cannot be reached all of them wait for one retry, whose pause doubles; the page
 * keeps what it had. An answer that refuses (a step that has left the ring, a token that is wrong) is given to the view.
 * What comes while something is pressed waits for the release: a browser knows of no click on what was replaced or moved.
 */

import { pressed } from "./dom.js";

const FIRST_PAUSE = 1;
const LONGEST_PAUSE = 30;
const LONGEST_PRESS = 30; // of a drag that ends in another window a page may hear nothing

/** An answer of the server that says no, with its text. */
export class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

class Lost extends Error {}

let offset = 0; // seconds by which the clock of the server is before that of this machine

/** Return the wall-clock seconds of the server. */
export const now = () => Date.now() / 1000 + offset;

/** Set the clock by what the server has said, which was under way for some of a second. */
export function set_clock(seconds) {
  const ahead = seconds - Date.now() / 1000;
  offset = Math.abs(ahead) > 1 ? ahead : 0;
}

export class Source {
  #failures = 0;
  #retry = null; // what all watches wait for while the server cannot be reached
  #changed;

  /** ``changed`` hears null when the server answers, and else when the next attempt comes, with a way to have it now. */
  constructor(changed) {
    this.#changed = changed;
  }

  /** Return the answer to one request. */
  async get(path, signal) {
    const refused = (status, text) => new Refusal(status, text ?? `${path} answered ${status}`);
    try {
      const response = await fetch(path, { signal, cache: "no-store", credentials: "same-origin" });
      const answer = await response.json();
      if (!response.ok) throw refused(response.status, answer.error);
      return answer;
    } catch (error) {
      if (error instanceof SyntaxError) throw refused(0, `${path} did not answer JSON`);
      throw error instanceof TypeError ? new Lost() : error;
    } finally {
      await released(signal);
    }
  }

  /**
   * Read ``path`` (or what it returns) now and every ``seconds`` until the returned function is called.
   *
   * ``show`` gets each answer, ``refused`` each refusal. Hidden pages read nothing.
   */
  watch(path, seconds, show, refused) {
    const ended = new AbortController();
    this.#run(typeof path === "function" ? path : () => path, seconds, show, refused, ended.signal);
    return () => ended.abort();
  }

  async #run(path, seconds, show, refused, signal) {
    while (!signal.aborted) {
      try {
        const answer = await this.get(path(), signal);
        this.#reached();
        if (signal.aborted) return;
        show(answer);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refusal) {
          this.#reached();
          refused?.(error);
        } else if (error instanceof Lost) {
          await this.#lost(signal);
          continue;
        } else {
          throw error;
        }
      }
      await pause(seconds, signal);
      await visible(signal);
    }
  }

  #reached() {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#changed(null);
  }

  #lost(signal) {
    if (this.#retry === null) {
      const wait = Math.min(FIRST_PAUSE * 2 ** this.#failures, LONGEST_PAUSE);
      this.#failures++;
      const waited = new AbortController();
      this.#changed({ at: Date.now() + wait * 1000, now: () => waited.abort() });
      this.#retry = pause(wait, waited.signal).then(() => (this.#retry = null));
    }
    return Promise.race([this.#retry, aborted(signal)]);
  }
}

const aborted = (signal) =>
  new Promise((done) => (signal.aborted ? done() : signal.addEventListener("abort", () => done(), { once: true })));

function pause(seconds, signal) {
  return new Promise((done) => {
    if (signal.aborted) return done();
    const timer = setTimeout(end, seconds * 1000);
    function end() {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      done();
    }
    signal.addEventListener("abort", end);
  });
}

function released(signal) {
  const limit = performance.now() + LONGEST_PRESS * 1000;
  return new Promise((done) => {
    function look() {
      if (pressed() && performance.now() < limit && !signal?.aborted) requestAnimationFrame(look);
      else done();
    }
    look();
  });
}

function visible(signal) {
  return new Promise((done) => {
    function look() {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      done();
    }
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}
