/** Maps errors of bundles to the builder's source. */
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppDeclarationError, type DeclarationProblem } from '@freehold/app';
import type { Fault } from '../lib/events.ts';
import type { Project } from '../project/project.ts';
import { type Bundle, BundleError } from './bundle.ts';
import { excerptOf } from './excerpt.ts';

interface Place {
  /** Relative to the project. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

interface SourcesOfMap {
  readonly sources?: readonly string[];
  readonly sourcesContent?: readonly string[];
}

/** The same in a stack that was mapped: relative to the project. */
const MAPPED = /([^\s():]+\.[cm]?[jt]sx?):(\d+):(\d+)/g;
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

  /** Describes an error while it was serving, by a stack whose places are those of the source already. */
  describeStack(message: string, stack: string): Fault {
    const places = [...stack.matchAll(MAPPED)].flatMap(([, path = '', line = '', column = '']) => {
      const absolute = join(this.#root, path);
      // The packages of the bundle have names of their own, which are no files.
      return existsSync(absolute) ? (this.#own(absolute, line, column) ?? []) : [];
    });
    return this.at(places[0] ?? null, { kind: 'request', message, hint: null, stack: places.map(textOf) });
  }

  /**
   * Describes why a version could not be bundled or loaded: each mistake, with its place. A mistake of a declaration is at
   * the record that it names where that is written once, and otherwise at `defineApp`.
   * @param bundle of the version; null where it could not be bundled.
   */
  describeAll(error: unknown, bundle: Bundle | null): readonly Fault[] {
    if (error instanceof BundleError) return error.faults;
    const whole = this.describe(error, 'declaration');
    if (!(error instanceof AppDeclarationError)) return [whole];
    const { file, line, column, stack } = whole;
    const declared = file === null || line === null || column === null ? null : { file, line, column };
    const places = new Set<string>();
    return error.problems.map((problem) => {
      const place = (bundle && this.#placeOf(problem, bundle)) ?? declared;
      const { code, message, page } = problem;
      const fault = { ...this.at(place, { kind: 'declaration', message, hint: null, stack }), code, page };
      const isShown = place !== null && places.has(textOf(place));
      if (place !== null) places.add(textOf(place));
      return isShown ? { ...fault, excerpt: null } : fault;
    });
  }

  /** A fault at a place, with the lines around it. */
  at(place: Place | null, fault: Pick<Fault, 'kind' | 'message' | 'hint' | 'stack'>): Fault {
    if (place === null) return { ...fault, file: null, line: null, column: null, excerpt: null };
    return { ...fault, ...place, excerpt: this.#excerpt(place) };
  }

  /** The place of a text in the sources of a bundle, or that of the first match of another one. */
  find({ path, map }: Bundle, text: string, otherwise: RegExp): Place | null {
    const { sources = [], sourcesContent = [] } = JSON.parse(map) as SourcesOfMap;
    const search = (indexIn: (content: string) => number): Place | null => {
      for (const [index, content] of sourcesContent.entries()) {
        const at = indexIn(content);
        if (at >= 0) return this.#inSource(path, sources[index], content, at);
      }
      return null;
    };
    return search((content) => content.indexOf(text)) ?? search((content) => content.search(otherwise));
  }

  /** Where the record of a problem is written: `app.operations['order/create'].permission` is at `'order/create': …`. */
  #placeOf({ path }: DeclarationProblem, { path: bundle, map }: Bundle): Place | null {
    const [, key] = /\['((?:[^'\\]|\\.)+)'\]/.exec(path) ?? [];
    if (key === undefined) return null;
    const { sources = [], sourcesContent = [] } = JSON.parse(map) as SourcesOfMap;
    const written = new RegExp(`(['"])${key.replaceAll(/\W/g, '\\$&')}\\1\\s*:`, 'g');
    const found = sourcesContent.flatMap((content, index) =>
      [...content.matchAll(written)].map((match) =>
        this.#inSource(bundle, sources[index], content, match.index),
      ),
    );
    return found.length === 1 ? (found[0] ?? null) : null;
  }

  /** The place of a position in a source of a bundle. */
  #inSource(bundle: string, source: string | undefined, content: string, at: number): Place {
    const before = content.slice(0, at).split('\n');
    const file = relative(this.#root, resolve(dirname(bundle), source ?? ''));
    return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
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
