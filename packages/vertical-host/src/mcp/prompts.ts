/**
 * The prompts of a vertical: one for each operation whose declaration has a sentence for it. A prompt is named like its tool,
 * and shown to the callers who may use that.
 */
import { IN_WORDS, PlatformError } from '@freehold/contracts';
import { type InputShape, inputShape, readText } from '@freehold/contracts/http';
import type { OperationDeclaration, OperationTable } from '@freehold/operations';
import { type McpPrompt, malformed, type PromptPolicy } from '@freehold/operations/mcp';
import { BLANK, blanksOf, sentenceOf } from '../lib/prompt-sentence.ts';
import type { McpTool } from './tools.ts';

/** The sentence of one operation as clients see it. */
interface OperationPrompt extends McpPrompt {
  readonly operation: string;
}

/**
 * Returns the prompts of the tools of a table, in their order; null where no operation has a sentence.
 * @param operations checked by `checkPrompt`.
 */
export function operationPrompts(
  operations: OperationTable,
  tools: readonly McpTool[],
): ((shownOf: ShownOf) => PromptPolicy) | null {
  const prompts = promptsOf(operations, tools);
  if (prompts.length === 0) return null;
  const byName = new Map(prompts.map((prompt) => [prompt.name, prompt]));
  return (shownOf) => ({
    prompts,
    listed: () => shownOf(prompts),
    words: (name, given) => {
      const prompt = byName.get(name);
      if (!prompt) throw new TypeError(`${name} is no prompt`);
      return wordsOf(prompt, operations, given);
    },
  });
}

/** Those of declared things whose operation the caller may perform now. */
export type ShownOf = <T extends { readonly operation: string }>(all: readonly T[]) => Promise<readonly T[]>;

function promptsOf(operations: OperationTable, tools: readonly McpTool[]): readonly OperationPrompt[] {
  return tools.flatMap(({ name, operation, title, description }) => {
    const declaration = operations[operation];
    const sentence = sentenceOf(declaration);
    if (!declaration || sentence === undefined) return [];
    const { fields } = inputShape(declaration.input);
    const argumentOf = (blank: string) => {
      const said = fields.get(blank)?.description;
      return {
        name: blank,
        ...(typeof said === 'string' ? { description: said } : {}),
        required: true as const,
      };
    };
    return [{ name, operation, title, description, arguments: blanksOf(sentence).map(argumentOf) }];
  });
}

/**
 * The words of a person who picked a prompt: the sentence with its blanks filled in, the tool, and its arguments.
 * @throws ProtocolError "Invalid params" for an argument that is missing, not one of this prompt, or none of its field.
 */
function wordsOf(
  { name: tool, operation: key, arguments: taken }: OperationPrompt,
  operations: OperationTable,
  given: Readonly<Record<string, string>>,
): string {
  const operation = operations[key];
  const sentence = sentenceOf(operation);
  if (!operation || sentence === undefined) throw new TypeError(`${key} has no prompt`);
  const names = taken.map(({ name }) => name);
  const stray = Object.keys(given).find((name) => !names.includes(name));
  if (stray !== undefined) throw malformed(`The prompt takes no argument ${stray}.`);
  const absent = names.find((name) => !Object.hasOwn(given, name) || given[name] === '');
  if (absent !== undefined) throw malformed(`The argument ${absent} is missing.`);
  const input = inputShape(operation.input);
  const values = valuesOf(operation, input, given);
  const filled = sentence.replaceAll(BLANK, (_all, name: string) => given[name] ?? '');
  const others = [...input.required].filter((name) => !names.includes(name));
  const tells = names.length === 0 ? '' : `, with these arguments: ${JSON.stringify(values)}`;
  const asks = others.length === 0 ? '' : ` It also needs: ${others.join(', ')}.`;
  return `${filled}\n\nThe tool for this is ${tool}${tells}.${asks}`;
}

/** The arguments with the types of their fields, each checked by the schema. */
function valuesOf(
  { input: schema }: OperationDeclaration,
  input: InputShape,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const texts = Object.entries(given).map(([name, text]) => [name, [text]] as const);
  const values = readArguments(texts, input);
  // Fields that are not arguments of the prompt are missing, and are asked for when the tool is called.
  const fault = schema
    .safeParse(values, IN_WORDS)
    .error?.issues.find(({ path: [name] }) => Object.hasOwn(given, String(name)));
  if (fault) throw malformed(`The argument ${fault.path.join('.')} ${fault.message}.`);
  return values;
}

function readArguments(texts: Parameters<typeof readText>[1], input: InputShape): Record<string, unknown> {
  try {
    return readText('The prompt', texts, input);
  } catch (error) {
    throw error instanceof PlatformError ? malformed(error.message) : error;
  }
}
