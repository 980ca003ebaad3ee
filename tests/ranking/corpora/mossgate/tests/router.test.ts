import { Router } from "../src/router/router";

test("the outermost guard that refuses decides", async () => {
  const router = new Router([
    { pattern: "/admin", view: "admin", guards: [() => "/sign-in"], children: [{ pattern: "/users", view: "users" }] },
    { pattern: "/sign-in", view: "sign-in" },
  ]);
  expect(await router.go("/admin/users")).toBe("sign-in");
});

test("a view with unsaved input holds a visitor back", async () => {
  const router = new Router([{ pattern: "/", view: "home" }]);
  router.holdBack(() => false);
  expect(await router.go("/")).toBeUndefined();
});
