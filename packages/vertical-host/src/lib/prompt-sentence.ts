/** The sentence beside an operation that people pick in their program's client, and the check of its names in braces. */
import { assertTextual, type InputShape } from '@freehold/contracts/http';
import type { OperationDeclaration } from '@freehold/operations';
import type { ReportFault } from '@freehold/operations/faults';

/** A name in braces. */
export const BLANK = /\{([^{}]*)\}/g;

export function sentenceOf(operation: OperationDeclaration | undefined): string | undefined {
  return (operation?.mcp || undefined)?.prompt;
}

/** The names in braces, each once, in the order of the sentence. */
export function blanksOf(sentence: string): readonly string[] {
  return [...new Set([...sentence.matchAll(BLANK)].map(([, name = '']) => name))];
}

/**
 * Reports what keeps a sentence from being a prompt: the operation is no tool, or a name in braces is no required field of
 * its input, or one that has no text form.
 */
export function checkPrompt(
  operation: OperationDeclaration,
  input: InputShape,
  report: ReportFault<'operation_prompt'>,
): void {
  const sentence = sentenceOf(operation);
  if (sentence === undefined) return;
  const refuse = (message: string, unknown?: { readonly name: string; readonly known: readonly string[] }) =>
    report({
      path: ['mcp', 'prompt'],
      code: 'operation_prompt',
      message,
      ...(unknown === undefined ? {} : { unknown }),
    });
  if (operation.http === undefined) refuse('is for a tool, and the operation is none without http');
  for (const name of blanksOf(sentence)) {
    if (!input.fields.has(name)) {
      const unknown = { name, known: [...input.fields.keys()] };
      refuse(`names {${name}}, and the input has no field ${name}`, unknown);
    } else if (!input.required.has(name)) refuse(`names {${name}}, and the input can do without ${name}`);
    else if (!isTextual(name, input)) refuse(`names {${name}}, and ${name} is an object, which is no text`);
  }
}

function isTextual(name: string, input: InputShape): boolean {
  try {
    assertTextual([name], input);
    return true;
  } catch {
    return false;
  }
}
