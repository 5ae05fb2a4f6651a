/** Reads the comments, the texts and the identifiers of a TypeScript source, with the scanner of TypeScript itself. */
import { SyntaxKind } from 'typescript/unstable/ast';
import { createScanner } from 'typescript/unstable/ast/scanner';

export interface Token {
  readonly kind: 'comment' | 'string' | 'identifier';
  readonly text: string;
  readonly start: number;
}

const KINDS = new Map<SyntaxKind, Token['kind']>([
  [SyntaxKind.SingleLineCommentTrivia, 'comment'],
  [SyntaxKind.MultiLineCommentTrivia, 'comment'],
  [SyntaxKind.StringLiteral, 'string'],
  [SyntaxKind.NoSubstitutionTemplateLiteral, 'string'],
  [SyntaxKind.TemplateHead, 'string'],
  [SyntaxKind.TemplateMiddle, 'string'],
  [SyntaxKind.TemplateTail, 'string'],
  [SyntaxKind.Identifier, 'identifier'],
  [SyntaxKind.PrivateIdentifier, 'identifier'],
]);
/** Changes of the number of open braces. */
const CHANGES = new Map<SyntaxKind, number>([
  [SyntaxKind.OpenBraceToken, 1],
  [SyntaxKind.CloseBraceToken, -1],
]);
const DIVISIONS = new Set<SyntaxKind>([SyntaxKind.SlashToken, SyntaxKind.SlashEqualsToken]);
const BLANKS = new Set<SyntaxKind>([
  SyntaxKind.WhitespaceTrivia,
  SyntaxKind.NewLineTrivia,
  SyntaxKind.SingleLineCommentTrivia,
  SyntaxKind.MultiLineCommentTrivia,
]);
/** After one of these a slash divides; after anything else it begins a regular expression. */
const VALUES = new Set<SyntaxKind>([
  SyntaxKind.Identifier,
  SyntaxKind.NumericLiteral,
  SyntaxKind.StringLiteral,
  SyntaxKind.CloseParenToken,
  SyntaxKind.CloseBracketToken,
  SyntaxKind.CloseBraceToken,
  SyntaxKind.ThisKeyword,
  SyntaxKind.TemplateTail,
  SyntaxKind.NoSubstitutionTemplateLiteral,
]);

/** Returns the tokens of a source in their order. Neighbouring line comments are one comment. */
export function tokensOf(source: string): Token[] {
  const scanner = createScanner(false, undefined, source);
  const tokens: Token[] = [];
  /** For each template that is open: how many braces are open in its current expression. */
  const braces: number[] = [];
  let before: SyntaxKind = SyntaxKind.EndOfFile;
  for (let kind = scanner.scan(); kind !== SyntaxKind.EndOfFile; kind = scanner.scan()) {
    if (DIVISIONS.has(kind) && !VALUES.has(before)) kind = scanner.reScanSlashToken();
    const depth = braces.pop();
    if (kind === SyntaxKind.CloseBraceToken && depth === 0) kind = scanner.reScanTemplateToken(false);
    const change = CHANGES.get(kind) ?? 0;
    if (depth !== undefined && kind !== SyntaxKind.TemplateTail) braces.push(depth + change);
    if (kind === SyntaxKind.TemplateHead) braces.push(0);
    // The scanner stands still at a character that it cannot place.
    if (scanner.getTokenEnd() === scanner.getTokenStart()) scanner.resetTokenState(scanner.getTokenEnd() + 1);
    const last = tokens.at(-1);
    const token = { text: scanner.getTokenText(), start: scanner.getTokenStart(), kind: KINDS.get(kind) };
    if (kind === SyntaxKind.SingleLineCommentTrivia && last && continues(last, token.start, source))
      tokens[tokens.length - 1] = { ...last, text: source.slice(last.start, scanner.getTokenEnd()) };
    else if (token.kind) tokens.push({ ...token, kind: token.kind });
    if (!BLANKS.has(kind)) before = kind;
  }
  return tokens;
}

/** Whether a line comment stands on the line directly below another one. */
function continues(last: Token, start: number, source: string): boolean {
  return (
    last.kind === 'comment' &&
    last.text.startsWith('//') &&
    /^\n[ \t]*$/.test(source.slice(last.start + last.text.length, start))
  );
}
