/** Mutants of what MCP clients meet: lists and their pages, resources, prompts, progress, questions before a call. */
import { inNode, type Mutant } from './mutant.ts';

const src = 'packages/operations/src/mcp';
const records = 'packages/vertical-host/src/mcp/records.ts';
const recordsTest = 'packages/vertical-host/src/mcp/records.test.ts';
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
