/** Every kind of mistake in a declaration, with its explanation and its page in the documents. */
import { DECLARATION_CODES, type DeclarationCode } from '../declaration/mistakes.ts';
import { namePages } from './name-pages.ts';
import { operationPages } from './operation-pages.ts';
import type { MistakePage } from './page.ts';
import { partPages } from './part-pages.ts';
import { reactionPages } from './reaction-pages.ts';
import { shapePages } from './shape-pages.ts';

export type { MistakePage };

export const MISTAKE_PAGES: Readonly<Record<DeclarationCode, MistakePage>> = {
  ...shapePages,
  ...namePages,
  ...operationPages,
  ...reactionPages,
  ...partPages,
};

/** Returns the explanation of a code; null for another word. */
export function mistakePage(code: string): MistakePage | null {
  return (DECLARATION_CODES as readonly string[]).includes(code)
    ? MISTAKE_PAGES[code as DeclarationCode]
    : null;
}

/** Returns the Markdown files of `docs/mistakes` by name: one for each code, and the list of all of them. */
export function mistakeDocuments(): ReadonlyMap<string, string> {
  const pages = Object.entries(MISTAKE_PAGES).map(
    ([code, page]) => [`${code}.md`, markdownOf(code, page)] as const,
  );
  return new Map([['README.md', listOf(Object.entries(MISTAKE_PAGES))], ...pages]);
}

function markdownOf(code: string, { title, why, fix, wrong, says, right }: MistakePage): string {
  return `# ${title}

${why}

**What to do.** ${fix}

Wrong:

\`\`\`ts
${wrong}
\`\`\`

\`\`\`
${says}
\`\`\`

Right:

\`\`\`ts
${right}
\`\`\`

Code: \`${code}\`. [All codes](README.md)
`;
}

function listOf(pages: readonly (readonly [string, MistakePage])[]): string {
  const rows = pages.map(([code, { title }]) => `- [\`${code}\`](${code}.md): ${title}`);
  return `# Mistakes in a declaration

Each code of an \`AppDeclarationError\` has a page with the reason, a wrong example and a right one. A code keeps its meaning. In the
examples \`// …\` stands for what is left out.

Written by \`node packages/app/test/write-mistake-pages.ts\` from \`packages/app/src/mistakes\`; do not edit it.

${rows.join('\n')}
`;
}
