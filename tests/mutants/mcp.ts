/** Mutants of what MCP clients meet: lists and their pages, resources, prompts, progress, questions before a call. */
import { inNode, type Mutant } from './mutant.ts';

const src = 'packages/operations/src/mcp';
const records = 'packages/vertical-host/src/mcp/records.ts';
const recordsTest = 'packages/vertical-host/src/mcp/records.test.ts';
const prompts = 'packages/vertical-host/src/mcp/prompts.test.ts';
const endpoint = 'packages/vertical-host/src/mcp/mcp-endpoint.test.ts';
const fieldwork = 'examples/fieldwork/test/mcp.test.ts';

export const MCP: readonly Mutant[] = [
  {
    id: 'mcp-tools-without-grants',
    requirement: 'D-11',
    claim: 'A tool is hidden from a member who may use it for a single record.',
    file: 'packages/app/src/mcp/callers.ts',
    find: 'somewhere: new Set(recordPermissions)',
    replace: 'somewhere: new Set()',
    killer: inNode(fieldwork, 'a technician sees what an assignment lets him do'),
  },
  {
    id: 'mcp-cursor-of-another-list',
    requirement: 'D-11',
    claim: 'A cursor of another list is taken for a place in this one.',
    file: `${src}/pages.ts`,
    find: 'decodeCursor(cursorOf(list, cursor))',
    replace: "decodeCursor(cursor.replace(/^[a-z]+~/, ''))",
    killer: inNode(endpoint, 'refuses a cursor that is one of another list'),
  },
  {
    id: 'mcp-page-by-what-is-shown',
    requirement: 'D-11',
    claim: 'A list breaks off when the right to the last tool of a page is taken away meanwhile.',
    file: `${src}/pages.ts`,
    find: 'new Map(names.map((name, place) => [name, place]))',
    replace: 'new Map(shown.map(({ name }) => name).map((name, place) => [name, place] as const))',
    killer: inNode(endpoint, 'keeps its place when the last tool that was listed'),
  },
  {
    id: 'mcp-hidden-record-is-told',
    requirement: 'D-11',
    claim: 'A program learns that there is a record that its person may not see.',
    file: records,
    find: "'not_found', 'validation_failed', 'permission_denied'",
    replace: "'not_found', 'validation_failed'",
    killer: inNode(recordsTest, 'what is hidden, absent or no address at all is one answer'),
  },
  {
    id: 'mcp-lists-what-may-not-be-listed',
    requirement: 'D-11',
    claim: 'Records are listed by an operation that the caller may not perform: each list leaves a denial.',
    file: records,
    find: 'list !== null && may.has(list.operation)',
    replace: 'list !== null && may !== null',
    killer: inNode(recordsTest, 'a list has the types that the caller may list'),
  },
  {
    id: 'mcp-grant-for-a-list',
    requirement: 'D-11',
    claim: 'A grant for one record counts for an operation that is about none.',
    file: 'packages/app/src/mcp/callers.ts',
    find: '(entity !== undefined && somewhere.has(permission))',
    replace: 'somewhere.has(permission)',
    killer: inNode('packages/app/test/mcp.test.ts', 'a grant for one record lists the tools'),
  },
  {
    id: 'mcp-prompt-of-another-caller',
    requirement: 'D-11',
    claim: 'A caller picks the prompt of a tool that the caller may not use.',
    file: `${src}/prompts.ts`,
    find: '(await policy.listed()).find',
    replace: 'policy.prompts.find',
    killer: inNode(prompts, 'has those whose tool the caller may use'),
  },
  {
    id: 'mcp-prompts-listed-to-all',
    requirement: 'D-11',
    claim: 'A prompt is listed to a caller who may not use its tool.',
    file: 'packages/vertical-host/src/mcp/prompts.ts',
    find: 'listed: () => shownOf(prompts)',
    replace: 'listed: async () => prompts',
    killer: inNode(fieldwork, 'picks the sentence of a tool from the assignment on'),
  },
  {
    id: 'mcp-prompt-with-any-argument',
    requirement: 'D-11',
    claim: 'A prompt takes an argument that its tool would refuse.',
    file: 'packages/vertical-host/src/mcp/prompts.ts',
    find: 'if (fault) throw',
    replace: 'if (fault === null) throw',
    killer: inNode(prompts, 'is refused: The argument seats must be at least 1'),
  },
  {
    id: 'mcp-prompt-fills-blanks-of-arguments',
    requirement: 'D-11',
    claim: 'A name in braces within an argument is taken for one of the sentence.',
    file: 'packages/vertical-host/src/mcp/prompts.ts',
    find: "(_all, name: string) => given[name] ?? '')",
    replace:
      "(_all, name: string) => given[name] ?? '').replaceAll(BLANK, (_all, name: string) => given[name] ?? '')",
    killer: inNode(prompts, 'is their words, then the tool with typed arguments'),
  },
  {
    id: 'mcp-prompts-announced-without-any',
    requirement: 'D-11',
    claim: 'Prompts are announced where no operation has a sentence.',
    file: 'packages/vertical-host/src/mcp/prompts.ts',
    find: 'if (prompts.length === 0) return null;',
    replace: 'if (prompts.length < 0) return null;',
    killer: inNode(prompts, 'is not announced and not there'),
  },
  {
    id: 'mcp-long-work-unfollowed',
    requirement: 'C-19',
    claim: 'A program that asks how far long work is hears nothing.',
    file: 'packages/control-plane/src/mcp/mcp-endpoint.ts',
    find: 'progress !== undefined && tool.operation.success === 202',
    replace: 'progress === null && tool.operation.success === 202',
    killer: inNode('packages/control-plane/test/long-work.test.ts', 'hears of the steps of long work'),
  },
  {
    id: 'mcp-long-work-always-awaited',
    requirement: 'C-19',
    claim: 'A program that did not ask for progress waits for the end of long work.',
    file: 'packages/control-plane/src/mcp/mcp-endpoint.ts',
    find: 'const isFollowed = progress !== undefined &&',
    replace: 'const isFollowed = progress !== null &&',
    killer: inNode('packages/control-plane/test/long-work.test.ts', 'gets the record of its beginning'),
  },
];
