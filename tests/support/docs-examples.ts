/**
 * Assembles the code in a document as its reader would: whole files, and changes to existing files. A fence names its
 * file: ```` ```ts file=app/server.ts ````.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** One fenced block. */
export interface DocBlock {
  /** The first word of the fence: `ts`, `diff`, `sh`. */
  readonly language: string;
  /** `file=…` and so on, from the fence. */
  readonly attributes: ReadonlyMap<string, string>;
  /** Without the indentation of the fence, with a line break at the end. */
  readonly text: string;
  /** The line of the fence in the document, from 1. */
  readonly line: number;
}

/** Path → text. */
export type Files = ReadonlyMap<string, string>;

/** Returns every fenced block of a document, in order. */
export function readBlocks(markdown: string): DocBlock[] {
  const fences = markdown.matchAll(/^( *)```(\w+)([^\n]*)\n(.*?)^\1```$/gms);
  return [...fences].map(({ index, 1: indent = '', 2: language = '', 3: info = '', 4: text = '' }) => ({
    language,
    attributes: new Map(info.trim().split(/\s+/).filter(Boolean).map(attributeOf)),
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    line: markdown.slice(0, index).split('\n').length,
  }));
}

/**
 * Returns the files that blocks make, starting from existing ones.
 * @throws Error for a diff that does not fit its file.
 */
export function assemble(blocks: readonly DocBlock[], start: Files): Files {
  const files = new Map(start);
  for (const { language, attributes, text, line } of blocks) {
    const path = attributes.get('file');
    if (path === undefined) continue;
    const isChange = language === 'diff';
    files.set(path, isChange ? applyDiff(files.get(path), text, `${path}, line ${line}`) : text);
  }
  return files;
}

/** Returns the blocks before the first change to a project: the first part of a path names it. */
export function beforeChanges(blocks: readonly DocBlock[]): DocBlock[] {
  const projectOf = ({ attributes }: DocBlock) => attributes.get('file')?.split('/')[0];
  const changed = new Set<string | undefined>();
  return blocks.filter((block) => {
    if (block.language === 'diff') changed.add(projectOf(block));
    return !changed.has(projectOf(block));
  });
}

/** Writes files below a directory. */
export function writeFiles(directory: string, files: Files): void {
  for (const [path, text] of files) {
    const target = join(directory, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

/**
 * Applies a change as documents show it: `+` adds a line, `-` removes one, a blank marks context, and `@@` separates
 * places. Each place must be found exactly once.
 */
export function applyDiff(text: string | undefined, diff: string, where: string): string {
  if (text === undefined) throw new Error(`${where}: there is no such file to change`);
  return diff.split(/^@@\n/m).reduce((changed, hunk) => {
    const lines = hunk.split('\n').slice(0, -1);
    const odd = lines.find((each) => !/^[ +-]|^$/.test(each));
    if (odd !== undefined) throw new Error(`${where}: no line of a change: ${odd}`);
    const before = sideOf(lines, '-');
    const places = changed.split(before).length - 1;
    if (before === '' || places !== 1) throw new Error(`${where}: found ${places} times:\n${before}`);
    return changed.replace(before, () => sideOf(lines, '+'));
  }, text);
}

/** Returns the context lines and those with the sign, without the first column. */
function sideOf(lines: readonly string[], sign: '-' | '+'): string {
  return lines
    .filter((line) => line === '' || line.startsWith(' ') || line.startsWith(sign))
    .map((line) => `${line.slice(1)}\n`)
    .join('');
}

function attributeOf(text: string): [string, string] {
  const [name = '', ...value] = text.split('=');
  return [name, value.join('=')];
}
