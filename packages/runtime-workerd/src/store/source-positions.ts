/** Maps the stacks of a bundle to its builder's source, by the map that was deployed with it. */
import { SourceMap } from 'node:module';

/** Maps in memory: each has some megabytes. */
const MAPS_MAX = 4;
/** A place in the bundle's code, as a stack names it. */
const PLACE = /(?<![\w./-])main\.js:(\d+):(\d+)/g;

export class SourcePositions {
  readonly #load: (vertical: string, bundle: string) => Promise<string | null>;
  readonly #maps = new Map<string, Promise<SourceMap | null>>();

  /** @param load returns the text of a bundle's source map; null where it has none. */
  constructor(load: (vertical: string, bundle: string) => Promise<string | null>) {
    this.#load = load;
  }

  /** The stack with the places of the source. Places that no map knows stay as they are; it never rejects. */
  async map(vertical: string, bundle: string, stack: string): Promise<string> {
    if (!stack.includes('main.js:')) return stack;
    const map = await this.#mapOf(vertical, bundle);
    if (map === null) return stack;
    return stack.replaceAll(PLACE, (place, line: string, column: string) => {
      // A stack counts from one, and a map from zero.
      const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
      if (!('originalSource' in entry)) return place;
      return `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    });
  }

  #mapOf(vertical: string, bundle: string): Promise<SourceMap | null> {
    const key = `${vertical} ${bundle}`;
    const known = this.#maps.get(key);
    if (known) return known;
    const [oldest] = this.#maps.keys();
    if (this.#maps.size >= MAPS_MAX && oldest !== undefined) this.#maps.delete(oldest);
    const loaded = this.#load(vertical, bundle)
      .then((text) => (text === null ? null : new SourceMap(JSON.parse(text))))
      // A map that cannot be read takes no error away: its places stay those of the bundle.
      .catch(() => null);
    this.#maps.set(key, loaded);
    return loaded;
  }
}
