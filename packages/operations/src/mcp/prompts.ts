/** Prompts: sentences that a person picks, and whose blanks their client has them fill in (MCP 2026-07-28, "Prompts"). */
import type { McpServer } from '@modelcontextprotocol/server';
import { pageAfter } from './pages.ts';
import { malformed } from './refusals.ts';

export interface McpPrompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly McpPromptArgument[];
}

export interface McpPromptArgument {
  readonly name: string;
  readonly description?: string;
  readonly required: true;
}

/** The prompts of an endpoint, at least one. Failures are errors of the protocol: there is no result that could say so. */
export interface PromptPolicy {
  /** Every prompt, also those that this caller is not shown, in the order of the list. */
  readonly prompts: readonly McpPrompt[];
  /** The prompts that this caller is shown, in the same order. Another one is answered like one that is not there. */
  listed(): Promise<readonly McpPrompt[]>;
  /** The words of the person, by the name of a listed prompt. @throws ProtocolError "Invalid params" for arguments that the prompt does not take. */
  words(name: string, given: Readonly<Record<string, string>>): string;
}

/** Serves prompts. */
export function servePrompts({ server }: McpServer, policy: PromptPolicy): void {
  server.setRequestHandler('prompts/list', async ({ params }) => {
    const names = policy.prompts.map(({ name }) => name);
    const { items, ...more } = pageAfter({ list: 'prompts', names }, await policy.listed(), params?.cursor);
    return { prompts: items.map(shown), ...more };
  });
  server.setRequestHandler('prompts/get', async ({ params }) => {
    const prompt = (await policy.listed()).find(({ name }) => name === params.name);
    if (!prompt) throw malformed('There is no such prompt.');
    const text = policy.words(prompt.name, params.arguments ?? {});
    return {
      description: prompt.description,
      messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
    };
  });
}

function shown({ name, title, description, arguments: taken }: McpPrompt) {
  return { name, title, description, arguments: taken.map((each) => ({ ...each })) };
}
