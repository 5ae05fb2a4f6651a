/**
 * Reads the guide as a list of steps: paste a file, run a command, open an address, see a result. A step's kind
 * follows from what a reader sees too: the line above a block of code, and the words of a sentence.
 */

/** The place of a step: `docs/guide/2-operation.md:31`. */
interface Place {
  readonly where: string;
}

export interface FileStep extends Place {
  readonly kind: 'file';
  readonly path: string;
  readonly how: 'new' | 'whole' | 'changed' | 'appended';
  readonly text: string;
}

export interface RunStep extends Place {
  readonly kind: 'run';
  readonly command: string;
}

/** A sentence such as "Open http://localhost:8790/api/auth/login and choose **Ada Lovelace**." */
export interface OpenStep extends Place {
  readonly kind: 'open';
  readonly address: string;
  /** A window of another person: a new one, or the last one. Null for the window of the first person. */
  readonly privately: 'new' | 'same' | null;
  readonly actions: readonly PageAction[];
}

export type PageAction =
  | { readonly act: 'choose' | 'press' | 'see'; readonly name: string }
  | { readonly act: 'type'; readonly text: string; readonly into: string };

export interface SeeStep extends Place {
  readonly kind: 'see';
  readonly language: 'json' | 'text';
  readonly text: string;
}

export type Step = FileStep | RunStep | OpenStep | SeeStep;

const CAPTION = /^`([^`]+)`, (a new file|the whole file|changed|at its end):$/;
const HOW = {
  'a new file': 'new',
  'the whole file': 'whole',
  changed: 'changed',
  'at its end': 'appended',
} as const;

/** Returns the steps of one chapter. @throws Error for a block of code that has no clear use for a reader. */
export function readGuide(file: string, markdown: string): Step[] {
  return partsOf(markdown).flatMap(({ line, text, fence, before }): Step[] => {
    const where = `${file}:${line}`;
    if (fence === null) return sentenceSteps(where, text);
    const caption = CAPTION.exec(before);
    if (caption) {
      const how = HOW[caption[2] as keyof typeof HOW];
      if ((how === 'changed') !== (fence === 'diff'))
        throw new Error(`${where}: what is changed is shown as a diff, and nothing else is`);
      return [{ kind: 'file', where, path: caption[1] ?? '', how, text }];
    }
    if (fence === 'sh')
      return text
        .trimEnd()
        .split('\n')
        .map((command) => ({ kind: 'run', where, command }));
    if (fence === 'json' || fence === 'text') return [{ kind: 'see', where, language: fence, text }];
    throw new Error(`${where}: the block does not name its file`);
  });
}

interface Part {
  readonly line: number;
  readonly text: string;
  /** The language of a block of code; null for a paragraph. */
  readonly fence: string | null;
  /** The paragraph before it. */
  readonly before: string;
}

/** Returns blocks of code and paragraphs, in order. @throws Error for a block without a language. */
function partsOf(markdown: string): Part[] {
  const parts: Part[] = [];
  let before = '';
  for (const match of markdown.matchAll(/^```(\w+)\n(.*?)^```$|^(?!```)[^\n]+(?:\n(?!```)[^\n]+)*/gms)) {
    const [whole, fence = null, code] = match;
    const line = markdown.slice(0, match.index).split('\n').length;
    const text = code ?? whole.replaceAll('\n', ' ');
    parts.push({ line, text, fence, before });
    before = fence === null ? text : '';
  }
  const fences = markdown.match(/^ *```/gm)?.length ?? 0;
  if (fences !== 2 * parts.filter(({ fence }) => fence !== null).length)
    throw new Error('a block of code has no language, or stands in a list');
  return parts;
}

const OPEN = /\bOpen (http[^\s,]*[^\s,.])(?: in (a private|that) window)?/;
const ACTION = /\b(choose|press|see) \*\*(.+?)\*\*|\btype \*\*(.+?)\*\* into \*\*(.+?)\*\*/g;

function sentenceSteps(where: string, text: string): Step[] {
  const open = OPEN.exec(text);
  if (!open) return [];
  const actions = [...text.slice(open.index).matchAll(ACTION)].map(
    ([, act, name = '', typed = '', into = '']): PageAction =>
      act === undefined ? { act: 'type', text: typed, into } : { act: act as 'see', name },
  );
  const [, address = '', window] = open;
  const privately = window === undefined ? null : window === 'that' ? 'same' : 'new';
  return [{ kind: 'open', where, address, privately, actions }];
}
