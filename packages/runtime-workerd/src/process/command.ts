/** The command that starts a vertical's process, with the walls that this machine has. */
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';

/** The walls around a process. Each is true where it does. */
export interface Walls {
  /** A process of its own, with none of the platform's environment, open files and working directory. Always. */
  readonly process: true;
  /** It sees its own folder and the system's libraries, and no other process: `bwrap`. */
  readonly sandbox: boolean;
  /** Its memory is limited by the system: `prlimit`. */
  readonly memory: boolean;
  /** It ends with the platform: `setpriv`, or the sandbox. */
  readonly endsWithPlatform: boolean;
}

export interface ProcessCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export interface CommandOptions {
  readonly folder: string;
  /** The most address space of data (heap and anonymous memory) of the whole process, in MiB. */
  readonly memoryMib: number;
}

/** Lets workerd tell on a pipe what listens. */
export const CONTROL = '--control-fd=3';

/** The path of the workerd program. */
export function workerdProgram(): string {
  const { default: program } = createRequire(import.meta.url)('workerd') as { readonly default: string };
  return realpathSync(program);
}

export function wallsHere(): Walls {
  const sandbox = findProgram('bwrap') !== null;
  return {
    process: true,
    sandbox,
    memory: findProgram('prlimit') !== null,
    endsWithPlatform: sandbox || findProgram('setpriv') !== null,
  };
}

/** Returns the command, from the outermost wall to workerd. */
export function commandOf({ folder, memoryMib }: CommandOptions): ProcessCommand {
  const program = workerdProgram();
  const words = [
    ...limited(memoryMib),
    ...sandboxed(folder, program),
    ...[program, 'serve', '--experimental', CONTROL, join(folder, 'config.capnp')],
  ];
  const [command = program, ...args] = words;
  return { command, args };
}

function limited(memoryMib: number): string[] {
  const prlimit = findProgram('prlimit');
  // RLIMIT_DATA counts what a process allocates; V8 reserves far more address space than it uses.
  return prlimit === null ? [] : [prlimit, `--data=${memoryMib * 1_024 * 1_024}`, '--core=0', '--'];
}

function sandboxed(folder: string, program: string): string[] {
  const bwrap = findProgram('bwrap');
  if (bwrap === null) {
    const setpriv = findProgram('setpriv');
    return setpriv === null ? [] : [setpriv, '--no-new-privs', '--pdeathsig', 'SIGKILL', '--'];
  }
  const readable = [
    '/lib',
    '/lib64',
    '/usr/lib',
    '/etc/ssl',
    // The certificates that are links from there: Debian, those of the operator, Red Hat, Arch.
    '/usr/share/ca-certificates',
    '/usr/local/share/ca-certificates',
    '/etc/pki',
    '/etc/ca-certificates',
    '/etc/resolv.conf',
    '/etc/hosts',
    '/etc/nsswitch.conf',
  ];
  return [
    bwrap,
    ...[
      '--die-with-parent',
      '--new-session',
      '--clearenv',
      '--unshare-user-try',
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
    ],
    ...['--unshare-cgroup-try', '--proc', '/proc', '--dev', '/dev'],
    ...readable.filter((path) => existsSync(path)).flatMap((path) => ['--ro-bind', path, path]),
    ...['--ro-bind', program, program, '--bind', folder, folder, '--chdir', folder],
    // A platform that is root has capabilities, and the root of the sandbox is memory.
    ...['--cap-drop', 'ALL', '--remount-ro', '/', '--'],
  ];
}

function findProgram(name: string): string | null {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {}
  }
  return null;
}
