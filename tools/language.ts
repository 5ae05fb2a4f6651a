/**
 * `node tools/language.ts`: refuses riddles. Looks at all tracked TypeScript and Markdown files: comments must open
 * with their subject, people have roles, and names come from `docs/glossary.md`.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.ts';
import { tokensOf } from './tokens.ts';

/** Where words are still to be mended, and pages that quote them. Only ever becomes shorter. */
const NOT_YET: readonly string[] = ['docs/cli'];
/** These files show what is refused, or hold it as data: a list of common passwords. */
const SAMPLES: readonly string[] = [
  // The text of migrations is hashed, and never changes.
  'examples/fieldwork/src/vertical/migrations.ts',
  'packages/auth/src/directory-provider/passwords/common-passwords.ts',
  'tests/tools/language.test.ts',
  'tools/language.ts',
];

/** A comment that opens so says what something is before it says which thing it is. */
const OPENER = /^(What|How|Who|Whoever|Whatever|Whether somebody) /;
/** Roles are caller, operator, member, owner, builder, visitor, staff, reader. */
const NO_ROLE = /\b(nobody|somebody|whoever)\b/i;
/** The value of a filter in the API of fieldwork: orders without an assignee. */
const VALUES: readonly string[] = ["'nobody'"];
/** Former names, and the name of the glossary to use in their place. */
const RENAMED = new Map<string, string>([
  ['rooms', 'features'],
  ['takenAway', 'revocations'],
  ['takingAgain', 'revocation replay'],
  ['shutOut', 'reapply revocations'],
  ['Word', 'Revocation'],
  ['WORDS', 'RULES, or what the list holds'],
  ['upkeep', 'maintenance'],
  ['rests', 'idle'],
  ['Rest', 'Idle'],
  ['Awake', 'ActiveScope'],
  ['awake', 'active'],
  ['attend', 'markActive'],
  ['untold', 'unreported'],
  ['goAt', 'backUpOne'],
  ['survey', 'findDue'],
  ['endings', 'expirations'],
  ['Came', 'Result'],
  ['came', 'result'],
  ['news', 'deduplicateRuns'],
  ['badNews', 'exitStatus'],
  ['latecomers', 'pendingErasures'],
  ['minted', 'stableIds, or what was made'],
  ['oweEverybody', 'enqueueAll'],
  ['tell', 'deliver, report, send'],
  ['tellingAnew', 'reprojectAfter'],
  ['conclude', 'finalize'],
  ['joined', 'mergeDisjoint'],
  ['kept', 'connection record, stored value'],
  ['holders', 'hostname history'],
  ['holds', 'fileLocks, or what is held'],
  ['door', 'sign-in'],
  ['strangers', 'anonymous'],
  ['stranger', 'anonymous, nonMember'],
  ['ANYBODY', 'UNKNOWN_ADDRESS'],
  ['anybody', 'anonymous'],
  ['nobody', 'anonymous, none'],
  ['somebody', 'the role of the person'],
  ['everybody', 'all'],
  ['underWay', 'pendingFlow, running'],
  ['rungs', 'transports'],
  ['twins', 'dedupeSchemas'],
  ['house', 'fixture'],
  ['town', 'fixture'],
]);

export interface Fault {
  readonly line: number;
  readonly says: string;
}

/** Returns what a TypeScript or Markdown file says against the rules, in the order of its lines. */
export function faultsOf(path: string, source: string): Fault[] {
  const at = (start: number) => source.slice(0, start).split('\n').length;
  if (path.endsWith('.md'))
    return proseOf(source).flatMap((text, index) =>
      roleFaults(text).map((says) => ({ line: index + 1, says })),
    );
  return tokensOf(source).flatMap(({ kind, text, start }) => {
    if (kind === 'identifier') {
      const name = RENAMED.get(text);
      return name ? [{ line: at(start), says: `the name \`${text}\` is a riddle: say ${name}` }] : [];
    }
    if (VALUES.includes(text)) return [];
    const opener = kind === 'comment' ? OPENER.exec(text.replace(/^[/*\s]+/, '')) : null;
    const found = opener ? [`a comment opens with "${opener[1]}": begin with the subject`] : [];
    // A comment of SQL stays as it is: the text of a migration is hashed.
    const prose = kind === 'string' ? text.replaceAll(/^\s*--.*$/gm, '') : text;
    return [...found, ...roleFaults(prose)].map((says) => ({ line: at(start), says }));
  });
}

/** The lines of a Markdown text, those and those parts emptied that are code. */
function proseOf(source: string): string[] {
  let fenced = false;
  return source.split('\n').map((line) => {
    const fence = /^\s*(```|~~~)/.test(line);
    if (fence) fenced = !fenced;
    return fence || fenced ? '' : line.replace(/`[^`]*`/g, '');
  });
}

function roleFaults(text: string): string[] {
  const found = NO_ROLE.exec(text);
  return found ? [`"${found[1]}" is no role: say who it is`] : [];
}

if (import.meta.main) {
  const tracked = execFileSync('git', ['ls-files', '-z', '*.ts', '*.tsx', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  });
  const held = (path: string) => !NOT_YET.some((each) => path.startsWith(`${each}/`));
  for (const path of tracked
    .split('\0')
    .filter((each) => each !== '' && !SAMPLES.includes(each) && held(each))) {
    for (const { line, says } of faultsOf(path, readFileSync(join(root, path), 'utf8'))) {
      console.error(`${path}:${line}: ${says}`);
      process.exitCode = 1;
    }
  }
}
