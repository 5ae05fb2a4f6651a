/** The mistakes of a declaration, as its builder reads them. */
import { VERTICAL_FAULT_CODES } from '@freehold/kernel';
import { type DeclarationFault, placeOf } from '@freehold/operations/faults';
import { ROUTE_FAULT_CODES } from '@freehold/vertical-host';

/** The codes of mistakes. A code keeps its meaning, and has a page in `docs/mistakes`; new ones are added. */
export const DECLARATION_CODES = [
  ...new Set([
    ...VERTICAL_FAULT_CODES,
    ...ROUTE_FAULT_CODES,
    ...([
      'supplied_operation',
      'supplied_route',
      'same_address',
      'input_refused',
      'migration_version',
      'migration_sql',
      'model_tables',
      'record_address',
      'resource_withheld',
      'resource_field',
      'attachments_unused',
      'unknown_setting',
      'script_source',
      'public_route',
      'unknown_page',
    ] as const),
  ]),
] as const;
export type DeclarationCode = (typeof DECLARATION_CODES)[number];

export type Fault = DeclarationFault<DeclarationCode>;

/** One mistake of a declaration. */
export interface DeclarationProblem {
  /** As code writes it: `app.operations['booking/confirm'].permission`. */
  readonly path: string;
  /** Stable. */
  readonly code: DeclarationCode;
  /** The place, the mistake and, where it is known, what would be right. */
  readonly message: string;
  /** The declared name that is nearest to the one that is not; absent where none is near. */
  readonly suggestion?: string;
  /** The file that explains the code, in a project: `node_modules/@freehold/app/docs/mistakes/cron.md`. */
  readonly page: string;
}

/** Where the documents lie in a builder's project. */
const PAGES = 'node_modules/@freehold/app/docs/mistakes';

/**
 * A declaration with mistakes. Its message names the first with its page, and counts the others; `problems` has all.
 * Some are found only when others are repaired: a manifest of another shape hides the names that it does not declare.
 */
export class AppDeclarationError extends TypeError {
  override readonly name = 'AppDeclarationError';
  /** Of the first mistake. */
  readonly path: string;
  /** Of the first mistake. */
  readonly code: DeclarationCode;
  /** All mistakes, at least one, in the order of the declaration's parts. */
  readonly problems: readonly DeclarationProblem[];

  constructor(faults: readonly [Fault, ...Fault[]]) {
    const problems = faults.map(problemOf) as [DeclarationProblem, ...DeclarationProblem[]];
    const [first, ...others] = problems;
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    super(`${first.message}${more}. See ${first.page}`);
    this.path = first.path;
    this.code = first.code;
    this.problems = problems;
  }
}

function problemOf({ path, code, message, unknown }: Fault): DeclarationProblem {
  const place = placeOf(['app', ...path]);
  const suggestion = unknown && nearest(unknown.name, unknown.known);
  return {
    path: place,
    code,
    message: `${place}: ${message}${helpOf(suggestion, unknown?.known ?? [])}`,
    ...(suggestion === undefined ? {} : { suggestion }),
    page: `${PAGES}/${code}.md`,
  };
}

/** The longest list of declared names in a message. */
const LISTED_MAX = 8;

function helpOf(suggestion: string | undefined, known: readonly string[]): string {
  if (suggestion !== undefined) return `; did you mean ${suggestion}?`;
  return known.length === 0 || known.length > LISTED_MAX ? '' : `; there is ${known.join(', ')}`;
}

/** Returns the name that is nearest to another one; undefined when every name differs in more than a third of it. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const max = Math.ceil(name.length / 3);
  const [best] = known
    .map((each) => ({ each, distance: editDistance(name.toLowerCase(), each.toLowerCase()) }))
    .filter(({ distance }) => distance <= max)
    .sort((a, b) => a.distance - b.distance);
  return best?.each;
}

/** The number of letters to add, remove, replace or swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        replaced,
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
        isSwap ? (before[j - 2] as number) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = last;
    last = row;
  }
  return last[b.length] as number;
}
