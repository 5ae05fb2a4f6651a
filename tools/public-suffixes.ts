/**
 * `npm run suffixes`: takes the newest Public Suffix List, which comes with the package `tldts`, into every package that
 * reads it, and records its date. A test holds the date to half a year: a suffix that was listed since counts as an
 * ordinary domain here, under which cookies would be shared (docs/identity/threat-model.md).
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.ts';

const RECORD = join(root, 'tools/public-suffixes.json');
const PACKAGES = ['packages/auth', 'packages/directory'];

export const AGE_MAX_DAYS = 183;

export interface SuffixList {
  /** The version of `tldts`. */
  readonly version: string;
  /** The day on which it was published, with the list of that day. */
  readonly published: string;
}

export function readRecord(): SuffixList {
  return JSON.parse(readFileSync(RECORD, 'utf8')) as SuffixList;
}

/** Returns the version that is installed. */
export function installedVersion(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/tldts/package.json'), 'utf8'));
  return version;
}

/** Returns what is wrong with a record, in a sentence that says what to do; null when it is current. */
export function findFault(record: SuffixList, installed: string, nowMs: number): string | null {
  if (record.version !== installed)
    return `tldts ${installed} is installed, and tools/public-suffixes.json speaks of ${record.version}: run npm run suffixes.`;
  const days = (nowMs - Date.parse(record.published)) / 86_400_000;
  // Written so that a date that cannot be read fails.
  if (days <= AGE_MAX_DAYS) return null;
  return `The Public Suffix List is of ${record.published}, more than ${AGE_MAX_DAYS} days ago: run npm run suffixes.`;
}

function npm(...words: string[]): string {
  return execFileSync('npm', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function main(): void {
  npm('install', '--save-exact', 'tldts@latest', ...PACKAGES.flatMap((each) => ['--workspace', each]));
  const version = installedVersion();
  const times = JSON.parse(npm('view', 'tldts', 'time', '--json')) as Readonly<Record<string, string>>;
  const published = times[version]?.slice(0, 10);
  if (published === undefined)
    throw new Error(`The registry does not say when tldts ${version} was published.`);
  writeFileSync(RECORD, `${JSON.stringify({ version, published }, null, 2)}\n`);
  console.log(`The Public Suffix List is that of tldts ${version}, published ${published}.`);
}

if (import.meta.main) main();
