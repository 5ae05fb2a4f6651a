/**
 * `npm run spec`: prints the requirements of docs/spec/requirements.md that no test cites, and the citations of
 * unknown ids. A citation is an id such as A-12 in a test file. An id in docs/spec/partial.md is open although it is
 * cited. Fails on an unknown id, and on an uncited id or area that `--require A-23,A-24` or `--require A` names.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Test files, and the suites that several of them share. */
const TESTS = [
  '{packages,apps,examples,tests}/**/*.test.ts',
  'packages/*/test/**/*.ts',
  'packages/testkit/src/**/*.ts',
];
const ID = /\b[A-D]-\d{2}\b/g;
const RANGE = /\b([A-D])-(\d{2})(?:\.\.|…|–| to )(?:\1-)?(\d{2})\b/g;

const { values } = parseArgs({
  options: { require: { type: 'string', default: '' }, json: { type: 'boolean', default: false } },
});

const known = listOf('requirements.md');
const partial = listOf('partial.md');
const cited = new Map<string, string[]>();
for (const file of globSync(TESTS, {
  cwd: root,
  // Only `npm run test:long` runs the long ones.
  exclude: ['**/node_modules/**', '**/*.long.test.ts'],
})) {
  for (const id of idsOf(readFileSync(join(root, file), 'utf8')))
    cited.set(id, [...(cited.get(id) ?? []), file]);
}

const uncited = [...known.keys()].filter((id) => !cited.has(id));
const unknown = [...cited].filter(([id]) => !known.has(id));
const inPart = [...partial].filter(([id]) => cited.has(id));
const settled = known.size - uncited.length - inPart.length;
const required = values.require.split(',').filter(Boolean);
const missing = uncited.filter((id) => required.some((each) => id === each || id.startsWith(`${each}-`)));

if (values.json) {
  console.log(
    JSON.stringify({
      known: known.size,
      cited: known.size - uncited.length,
      uncited,
      partial: inPart.map(([id]) => id),
      unknown: unknown.map(([id]) => id),
      missing,
    }),
  );
} else {
  console.log(`${settled} of ${known.size} requirements are held by a test, ${inPart.length} more in part.`);
  for (const id of uncited) console.log(`  not cited: ${id} ${known.get(id)}`);
  for (const [id, text] of inPart) console.log(`  in part: ${id} ${text}`);
  for (const [id, files] of unknown)
    console.log(`  no such requirement: ${id}, cited in ${files.join(', ')}`);
}
for (const id of missing) console.error(`required and not cited: ${id} ${known.get(id)}`);
process.exitCode = unknown.length > 0 || missing.length > 0 ? 1 : 0;

/** The lines `- A-12 words` of a file beside the specification's requirements. */
function listOf(file: string): Map<string, string> {
  const text = readFileSync(join(root, 'docs/spec', file), 'utf8');
  return new Map(
    [...text.matchAll(/^- ([A-D]-\d{2}) (.+)$/gm)].map(([, id, words]) => [id as string, words as string]),
  );
}

/** Ids in a text, `A-23..A-26` counted as four. */
function idsOf(text: string): Set<string> {
  const ids = new Set(text.match(ID) ?? []);
  for (const [, area, from, to] of text.matchAll(RANGE)) {
    for (let n = Number(from); n <= Number(to); n++) ids.add(`${area}-${String(n).padStart(2, '0')}`);
  }
  return ids;
}
