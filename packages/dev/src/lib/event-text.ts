/** The events of a development server as text for a terminal. */
import { type DevEvent, type DevPerson, type Fault, placeOf, type Ready } from './events.ts';

export function eventText(event: DevEvent): string {
  switch (event.type) {
    case 'ready':
      return readyText(event);
    case 'note':
      return event.text;
    case 'people':
      return peopleText(event.people);
    case 'served':
      return `Version ${event.version} is served (${event.ms} ms).`;
    case 'broken': {
      const { serving, faults } = event;
      const served = serving === null ? 'No version is served yet.' : `Version ${serving} keeps serving.`;
      return [`The save is broken. ${served}`, ...faults.map(faultText)].join('\n');
    }
    case 'fault':
      return [`Error in ${event.where}`, faultText(event.fault)].join('\n');
    case 'log':
      return `[${event.level}] ${event.text}`;
    case 'mail':
      return [`Mail to ${event.to}: ${event.subject}`, indented(event.text)].join('\n');
    case 'stopped':
      return 'Stopped. The data is kept.';
  }
}

function readyText({ name, url, mcp, devMcp, issuer, people, data }: Ready): string {
  return [
    `${name ?? 'Your application'} is at ${url}`,
    `  People sign in at ${issuer}, without a password.`,
    ...(people.length === 0 ? [] : [indented(peopleText(people))]),
    `  MCP for those who sign in: ${mcp}`,
    `  MCP for your coding agent: ${devMcp}`,
    `  Kept in ${data}. Each save is served; Ctrl-C stops.`,
  ].join('\n');
}

function peopleText(people: readonly DevPerson[]): string {
  const members = people.filter(({ roles }) => roles.length > 0);
  return [
    ...members.map(({ login, roles }) => `Sign in as ${login}: ${roles.join(', ')}.`),
    'Any other login name is a person who is no member.',
  ].join('\n');
}

function faultText(fault: Fault): string {
  const { message, excerpt, hint, stack, page } = fault;
  const place = placeOf(fault);
  return indented(
    [
      place === null ? message : `${place}: ${message}`,
      ...(excerpt === null ? [] : [excerpt]),
      ...stack.slice(1, 4).map((frame) => `from ${frame}`),
      ...(hint === null ? [] : [hint]),
      ...(page === undefined ? [] : [`See ${page}`]),
    ].join('\n'),
  );
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
