/** A sign-in with a password, from the form to the cookies, beside the bare hash at the same cost. */
import { argon2 } from 'node:crypto';
import { compare, type Row } from './harness.ts';
import { openAccounts, storedHash } from './identity-accounts.ts';
import { ADA, NEAR_BARE } from './identity-aims.ts';

export async function benchPasswords(directory: string): Promise<Row[]> {
  const accounts = openAccounts(directory);
  await accounts.add(ADA.email);
  const signIn = async (password?: string): Promise<boolean> => {
    const { status, headers } = await accounts.signIn(ADA.email, password);
    return status === 303 && headers.getSetCookie().some((line) => line.startsWith('sb_session=ey'));
  };
  if (!(await signIn())) throw new Error('the right password is refused');
  if (await signIn('another one')) throw new Error('a wrong password is taken');
  const bare = makeBare(await storedHash(accounts, ADA.email));
  const row = await compare(
    {
      name: 'sign-in with a password, whole',
      ours: async () => {
        if (!(await signIn())) throw new Error('a sign-in was refused');
      },
      peer: bare,
      against: 'bare argon2id at the same cost',
    },
    NEAR_BARE,
  );
  await accounts.close();
  return [row];
}

/** Computes the value that a stored hash is compared with. @throws Error when it is no argon2id hash. */
function makeBare(phc: string): () => Promise<Buffer> {
  const [, memory, passes, parallelism, salt = ''] =
    /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$/.exec(phc) ?? [];
  if (memory === undefined) throw new Error('the stored hash is not argon2id');
  const parameters = {
    message: 'three blind mice in a row',
    nonce: Buffer.from(salt, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: 32,
  };
  return () =>
    new Promise((resolve, reject) => {
      argon2('argon2id', parameters, (error, hash) => (error ? reject(error) : resolve(hash)));
    });
}
