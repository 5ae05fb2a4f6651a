/** Maps errors of bundles to the builder's source. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Fault } from '../lib/events.ts';
import type { Project } from '../project/project.ts';
import type { Bundle } from './bundle.ts';

interface Place {
  /** Relative to the project. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A path and a position in a stack: `file:///…/app-1a2b.mjs:12:7`. */
const LOCATION = /((?:file:\/\/)?\/[^\s()]+?):(\d+):(\d+)/g;

export class Positions {
  readonly #root: string;
  readonly #maps = new Map<string, SourceMap>();

  constructor({ root }: Pick<Project, 'root'>) {
    this.#root = root;
  }

  /** Makes the positions of a bundle known. */
  add({ path, map }: Bundle): void {
    if (!this.#maps.has(path)) this.#maps.set(path, new SourceMap(JSON.parse(map)));
  }

  /** Describes a thrown value. Its place is the first frame in the builder's own source. */
  describe(error: unknown, kind: Fault['kind'], hint: string | null = null): Fault {
    const message = error instanceof Error ? error.message : String(error);
    const places = this.#placesIn(error instanceof Error ? (error.stack ?? '') : '');
    return this.at(places[0] ?? null, { kind, message, hint, stack: places.map(textOf) });
  }

  /** A fault at a place, with the lines around it. */
  at(place: Place | null, fault: Pick<Fault, 'kind' | 'message' | 'hint' | 'stack'>): Fault {
    if (place === null) return { ...fault, file: null, line: null, column: null, excerpt: null };
    return { ...fault, ...place, excerpt: this.#excerpt(place) };
  }

  /** The place of a text in the sources of a bundle, or that of the first match of another one. */
  find({ path, map }: Bundle, text: string, otherwise: RegExp): Place | null {
    const { sources = [], sourcesContent = [] } = JSON.parse(map) as {
      sources?: string[];
      sourcesContent?: string[];
    };
    const search = (indexIn: (content: string) => number): Place | null => {
      for (const [index, content] of sourcesContent.entries()) {
        const at = indexIn(content);
        if (at < 0) continue;
        const before = content.slice(0, at).split('\n');
        const file = relative(this.#root, resolve(dirname(path), sources[index] ?? ''));
        return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
      }
      return null;
    };
    return search((content) => content.indexOf(text)) ?? search((content) => content.search(otherwise));
  }

  /** The frames of the builder's own source, the innermost first. */
  #placesIn(stack: string): Place[] {
    return [...stack.matchAll(LOCATION)].flatMap(([, url = '', line = '', column = '']) => {
      const path = url.startsWith('file://') ? fileURLToPath(url) : url;
      const map = this.#maps.get(path);
      const place = map
        ? this.#original(path, map, Number(line), Number(column))
        : this.#own(path, line, column);
      return place ? [place] : [];
    });
  }

  #original(path: string, map: SourceMap, line: number, column: number): Place | null {
    const entry = map.findEntry(line - 1, column - 1);
    if (!('originalSource' in entry) || entry.originalSource === undefined) return null;
    const { originalSource, originalLine, originalColumn } = entry;
    const source = originalSource.startsWith('file://') ? fileURLToPath(originalSource) : originalSource;
    return this.#own(resolve(dirname(path), source), originalLine + 1, originalColumn + 1);
  }

  /** A place below the project that is no package and nothing of ours. */
  #own(path: string, line: string | number, column: string | number): Place | null {
    const file = relative(this.#root, path).replaceAll('\\', '/');
    const isOwn = !/^\.\.|^\/|(?:^|\/)(?:node_modules|\.freehold)\//.test(file) && file !== 'freehold-dev.ts';
    return isOwn ? { file, line: Number(line), column: Number(column) } : null;
  }

  #excerpt(place: Place): string | null {
    try {
      const lines = readFileSync(join(this.#root, place.file), 'utf8').split('\n');
      return excerptOf(lines, place, 1);
    } catch {
      return null;
    }
  }
}

function textOf({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** The line of a place with one above and one below, numbered from `first`, and a mark below its column. */
export function excerptOf(
  lines: readonly string[],
  { line, column }: Pick<Place, 'line' | 'column'>,
  first: number,
): string {
  const from = Math.max(0, line - 2);
  const shown = lines.slice(from, line + 1);
  const width = String(first + from + shown.length - 1).length;
  return shown
    .flatMap((text, index) => {
      const number = first + from + index;
      const numbered = `${String(number).padStart(width)} | ${text}`;
      return number === first + line - 1
        ? [numbered, `${' '.repeat(width)} | ${' '.repeat(Math.max(0, column - 1))}^`]
        : [numbered];
    })
    .join('\n');
}
