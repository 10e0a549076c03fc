/** For the processes that have no admin listener. */
export function withoutAdminToken(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { ADMIN_TOKEN: _, ADMIN_TOKEN_FILE: __, ...rest } = env;
  return rest;
}
