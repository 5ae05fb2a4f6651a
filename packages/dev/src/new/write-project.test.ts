/** A project is on disk whole or not at all. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeProject } from './write-project.ts';

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'freehold-write-'));
});
afterEach(() => rmSync(scratch, { recursive: true }));

const files = new Map([
  ['.gitignore', 'x'],
  ['src/deep/a.ts', 'a'],
  ['src/b.ts', 'b'],
]);
/** The second file lies below the first, which is no directory: writing fails half way. */
const impossible = new Map([
  ['a', 'a'],
  ['a/b', 'b'],
]);
const everything = () => readdirSync(scratch, { recursive: true }).map(String).sort();
const refusal = (code: string) => expect.objectContaining({ code });

describe('a directory that is missing', () => {
  test('is made with all files, and its parents with it', () => {
    writeProject(join(scratch, 'far/away/project'), files);
    expect(everything()).toEqual([
      'far',
      'far/away',
      'far/away/project',
      'far/away/project/.gitignore',
      'far/away/project/src',
      'far/away/project/src/b.ts',
      'far/away/project/src/deep',
      'far/away/project/src/deep/a.ts',
    ]);
    expect(readFileSync(join(scratch, 'far/away/project/src/b.ts'), 'utf8')).toBe('b');
  });

  test('can be read by whom the umask lets read', () => {
    writeProject(join(scratch, 'project'), files);
    mkdirSync(join(scratch, 'ordinary'));
    expect(statSync(join(scratch, 'project')).mode).toBe(statSync(join(scratch, 'ordinary')).mode);
  });

  test('is missing again after a failure, and so are its parents', () => {
    expect(() => writeProject(join(scratch, 'far/away'), impossible)).toThrow(refusal('unavailable'));
    expect(everything()).toEqual([]);
  });

  test('keeps files that another program put there in the meantime', () => {
    const directory = join(scratch, 'far/project');
    const late = new (class extends Map<string, string> {
      override *[Symbol.iterator]() {
        yield* files;
        mkdirSync(directory);
        writeFileSync(join(directory, 'theirs'), 'theirs');
        return undefined;
      }
    })();
    expect(() => writeProject(directory, late)).toThrow(refusal('conflict'));
    expect(everything()).toEqual(['far', 'far/project', 'far/project/theirs']);
  });
});

describe('a directory that is empty', () => {
  test('is filled and stays the same directory, for a shell may be in it', () => {
    const before = statSync(scratch).ino;
    writeProject(scratch, files);
    expect(statSync(scratch).ino).toBe(before);
    expect(everything()).toEqual(['.gitignore', 'src', 'src/b.ts', 'src/deep', 'src/deep/a.ts']);
  });

  test('is empty again after a failure', () => {
    expect(() => writeProject(scratch, impossible)).toThrow(refusal('unavailable'));
    expect(everything()).toEqual([]);
  });
});

describe('an occupied place', () => {
  test('is refused and left alone: a directory with something hidden in it, and a file', () => {
    mkdirSync(join(scratch, 'project'));
    writeFileSync(join(scratch, 'project/.hidden'), '');
    writeFileSync(join(scratch, 'file'), '');
    for (const name of ['project', 'file']) {
      expect(() => writeProject(join(scratch, name), files)).toThrow(refusal('conflict'));
    }
    expect(everything()).toEqual(['file', 'project', 'project/.hidden']);
  });

  test('a file above the directory makes it unwritable, in a sentence', () => {
    writeFileSync(join(scratch, 'file'), '');
    expect(() => writeProject(join(scratch, 'file/project'), files)).toThrow(
      /project cannot be written: not a directory \(ENOTDIR\)\.$/,
    );
    expect(existsSync(join(scratch, 'file'))).toBe(true);
  });
});
